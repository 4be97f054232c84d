#include "web/json/arguments.hpp"

#include <algorithm>
#include <charconv>

#include "base/text.hpp"
#include "server/core/api/placeholders.hpp"
#include "server/hub/id_parsing.hpp"
#include "server/hub/submission.hpp"

namespace muster::web {

namespace {

constexpr std::string_view base64_pattern =
    "^([A-Za-z0-9+/_-]{4})*([A-Za-z0-9+/_-]{2}(==)?|[A-Za-z0-9+/_-]{3}=?)?$";

schema::json without_references(schema::json of) {
  return schema::with(
      std::move(of),
      {{"propertyNames", {{"not", {{"enum", {"$remote_value", "$per_worker", "$bytes"}}}}}}});
}

// Most arguments contain no '$' and need not be traversed.
bool may_hold_reference(json_ref const& at) {
  return at.text().find('$') != std::string_view::npos ||
         at.text().find("\\u0024") != std::string_view::npos;
}

void refuse(json_check& check, json_ref const& at, std::string const& what) {
  check.fail(make_problem(422, muster::code::unimplemented, at.path() + ": " + what, at.path()));
}

void note_per_worker(json_check& check, json_ref const& id,
                     std::vector<core::per_worker_id>& noted) {
  if (!check.is(id, json_type::string)) return;
  auto const v = server::parse_per_worker(id.string());
  if (!v) return check.fail(id, "expected a per-worker value's id, \"pw_…\"");
  if (std::find(noted.begin(), noted.end(), *v) == noted.end()) noted.push_back(*v);
}

struct reference {
  std::size_t begin = 0, size = 0;
  core::input_ref input;
};

std::optional<core::input_ref> input_of(json_check& check, json_ref const& id) {
  if (!check.is(id, json_type::string)) return {};
  auto const text = id.string();
  core::input_ref input;
  if (text.starts_with('#')) {
    auto const end = text.data() + text.size();
    auto const [last, error] = std::from_chars(text.data() + 1, end, input.position);
    if (error == std::errc() && last == end) return input;
  } else if (auto const closure = server::parse_value(text)) {
    // The core interprets ID 0 as "use the position", so ID 0 is rejected here.
    if (*closure == core::closure_id{}) {
      check.fail(make_problem(404, muster::code::not_found, id.path() + ": there is no " + text));
      return {};
    }
    input.closure = *closure;
    return input;
  }
  check.fail(id, "expected a RemoteValue's id, \"rv_…\", or \"#N\" for a closure of this request");
  return {};
}

bool is_alone(json_check& check, json_ref const& at, json_walk& members, bool first,
              std::string const& key) {
  if (first && !members.next()) return true;
  check.fail(at, "{\"" + key + "\": …} cannot have other members");
  return false;
}

void find_references(json_check& check, json_ref const& at, char const* origin,
                     std::vector<reference>& found, std::vector<core::per_worker_id>& per_worker) {
  if (at.type() != json_type::array && at.type() != json_type::object) return;
  bool const object = at.type() == json_type::object;
  bool first = true;
  for (json_walk m(at); m.next() && !check.failed(); first = false) {
    if (object) {
      auto const key = m.key();
      if (key == "$per_worker") {
        note_per_worker(check, m.value(), per_worker);
        (void)is_alone(check, at, m, first, key);
        return;
      }
      if (key == "$bytes")
        refuse(check, at,
               "{\"$bytes\": …} is supported only if it is the only argument of the closure");
      if (key == "$remote_value") {
        auto const input = input_of(check, m.value());
        if (!is_alone(check, at, m, first, key) || check.failed()) return;
        found.push_back(
            {static_cast<std::size_t>(at.text().data() - origin), at.text().size(), *input});
        return;
      }
    }
    find_references(check, m.value(), origin, found, per_worker);
  }
}

// Appends the text without its references to `text`, and adds the references to the inputs.
void append_cut(json_check& check, json_ref const& at, std::string& text,
                core::closure_extras& found_in) {
  std::vector<reference> found;
  if (may_hold_reference(at))
    find_references(check, at, at.text().data(), found, found_in.per_worker);
  std::size_t from = 0;
  for (auto& r : found) {
    text += at.text().substr(from, r.begin - from);
    from = r.begin + r.size;
    r.input.offset = static_cast<std::uint32_t>(text.size());
    found_in.inputs.push_back(r.input);
  }
  text += at.text().substr(from);
}

// A reference in place of all named arguments would not be an object.
void refuse_references_among_names(json_check& check, json_ref const& kwargs) {
  for (json_walk m(kwargs); m.next();)
    if (auto const key = m.key(); key == "$remote_value" || key == "$per_worker")
      check.fail(kwargs, "a named argument cannot be named '" + std::string(key) + "'");
}

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

void read_arguments(json_check& check, json_ref const* args, json_ref const* kwargs,
                    core::closure_spec& closure) {
  if (args && !check.is(*args, json_type::array)) return;
  if (kwargs && !check.is(*kwargs, json_type::object)) return;
  bool const has_kwargs = kwargs && json_walk(*kwargs).next();
  if (has_kwargs) refuse_references_among_names(check, *kwargs);
  if (check.failed()) return;
  bool const plain = !(args && may_hold_reference(*args)) && !has_kwargs;
  if (plain) {
    closure.args = server::arguments(args ? args->text() : "[]", core::encoding::json);
    return;
  }
  if (args && !has_kwargs)
    if (auto const bytes = sole_bytes(check, *args)) {
      closure.args = core::blob(*bytes, core::encoding::bytes);
      return;
    }
  std::string text = has_kwargs ? "{\"args\":" : "";
  core::closure_extras found;
  if (args)
    append_cut(check, *args, text, found);
  else
    text += "[]";
  if (has_kwargs) {
    text += ",\"kwargs\":";
    append_cut(check, *kwargs, text, found);
    text += "}";
  }
  closure.args = core::blob(text);
  if (found.inputs.empty() && found.per_worker.empty()) return;
  auto& own = server::submission::own_extras(closure);
  own.inputs = std::move(found.inputs);
  own.per_worker = std::move(found.per_worker);
}

schema::json arguments_schema(std::string_view of) {
  auto const bytes = schema::closed_object({{"$bytes", schema::matching(base64_pattern)}});
  return schema::any_of({schema::array(schema::ref(of)),
                         schema::with(schema::array(bytes), {{"minItems", 1}, {"maxItems", 1}})});
}

schema::json named_arguments_schema(std::string_view of) {
  return without_references(schema::map(schema::ref(of)));
}

// Nested values accept any JSON, because client generators do not support recursive schemas.
std::vector<schema::named> argument_schemas() {
  std::vector<schema::json> const plain = {{{"type", {"null", "boolean", "number", "string"}}},
                                           schema::array(schema::any()),
                                           without_references(schema::map(schema::any()))};
  auto any = plain;
  any.push_back(schema::described(
      schema::closed_object(
          {{"$remote_value", schema::matching("^(rv_[0-9a-f]{16}|#[0-9]{1,9})$")}}),
      "output of another closure; #N is the closure at position N of this request"));
  any.push_back(schema::described(schema::closed_object({{"$per_worker", schema::id("pw_")}}),
                                  "the component of a per-worker value on the executing worker"));
  return {{"Argument", schema::described(schema::any_of(any),
                                         "any JSON value; it can contain references at any depth")},
          {"PlainArgument", schema::any_of(plain)}};
}

std::string display_arguments(core::closure_view const& c) {
  return core::fill_gaps(c.args.view(), c.extras->inputs, [&](std::size_t i) {
    return "{\"$remote_value\":\"" + server::value_text(c.inputs[i]) + "\"}";
  });
}

}  // namespace muster::web
