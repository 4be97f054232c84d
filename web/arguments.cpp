#include "web/arguments.hpp"

#include "web/text.hpp"

namespace muster::web {

namespace {

// Nothing that begins with '$' hides in most arguments, so most are not walked.
bool may_hold_reference(json_ref const& at) {
  return at.text().find('$') != std::string_view::npos ||
         at.text().find("\\u0024") != std::string_view::npos;
}

void refuse(json_check& check, json_ref const& at, std::string const& what) {
  auto p = make_problem(422, core::code::unimplemented, at.path() + ": " + what);
  p.field = at.path();
  check.fail(std::move(p));
}

// Depth is bounded by json_depth_max.
void refuse_references(json_check& check, json_ref const& at) {
  if (at.type() != json_type::array && at.type() != json_type::object) return;
  bool const object = at.type() == json_type::object;
  for (json_walk m(at); m.next() && !check.failed();) {
    if (object) {
      auto const key = m.key();
      if (key == "$remote_value" || key == "$per_worker")
        refuse(check, at, "{\"" + key + "\": …} as an argument is not supported yet");
      if (key == "$bytes")
        refuse(check, at, "{\"$bytes\": …} is supported as the only argument of a closure");
    }
    refuse_references(check, m.value());
  }
}

// The bytes, when the one argument is {"$bytes":"…"}.
std::optional<std::string> sole_bytes(json_check& check, json_ref const& args) {
  json_walk items(args);
  if (!items.next() || items.value().type() != json_type::object) return {};
  json_ref const first = items.value();
  json_walk members(first);
  if (!members.next() || members.key() != "$bytes") return {};
  json_ref const encoded = members.value();
  if (members.next() || items.next()) return {};
  if (!check.is(encoded, json_type::string)) return {};
  auto bytes = from_base64(encoded.string());
  if (!bytes) check.fail(encoded, "expected base64");
  return bytes;
}

}  // namespace

core::blob encode_arguments(json_check& check, json_ref const* args, json_ref const* kwargs) {
  if (args && !check.is(*args, json_type::array)) return {};
  if (kwargs && !check.is(*kwargs, json_type::object)) return {};
  bool const has_kwargs = kwargs && json_walk(*kwargs).next();
  if (args && may_hold_reference(*args)) {
    if (!has_kwargs)
      if (auto const bytes = sole_bytes(check, *args))
        return core::blob(*bytes, core::encoding::bytes);
    refuse_references(check, *args);
  }
  if (has_kwargs && may_hold_reference(*kwargs)) refuse_references(check, *kwargs);
  if (check.failed()) return {};
  auto const positional = args ? args->text() : std::string_view("[]");
  if (!has_kwargs) return core::blob(positional);
  auto const both =
      "{\"args\":" + std::string(positional) + ",\"kwargs\":" + std::string(kwargs->text()) + "}";
  return core::blob(both);
}

}  // namespace muster::web
