#include "muster/remote_object.hpp"

#include <stdexcept>

#include "base/text.hpp"
#include "client/checks.hpp"
#include "client/objects/object_caller_scope.hpp"

namespace muster {
namespace detail {

thread_local std::shared_ptr<object_caller> object_caller_scope::caller_;
thread_local call_name const* object_caller_scope::within_ = nullptr;

std::string plain_arguments(request r) {
  if (!r.per_worker.empty())
    throw std::invalid_argument("a per-worker value cannot be an argument of an object");
  for (auto const& content : r.contents) content->named_elsewhere();
  std::string args;
  std::size_t copied = 0;
  for (auto const& [offset, of] : r.inputs) {
    args.append(r.args, copied, offset - copied);
    copied = offset;
    auto const output = of->get(for_ever);
    if (output.encoding != encoding::json)
      throw std::invalid_argument("the output of '" + of->function() +
                                  "' is bytes, which cannot be an argument of an object");
    args += output.bytes;
  }
  args.append(r.args, copied);
  check_argument_bytes(args.size());
  return args;
}

}  // namespace detail

namespace {

// {"$object":"obj_…","task":"ps:0","class":"Counter","ticket":"…"}
constexpr char const* id_key = "$object";
constexpr std::string_view id_prefix = "obj_";

std::string member(boost::json::object const& o, char const* key) {
  auto const* v = o.if_contains(key);
  if (!v || !v->is_string())
    throw std::invalid_argument("an object handle must have a string member '" + std::string(key) +
                                "'");
  return std::string(v->get_string());
}

std::uint64_t id_of(std::string const& text) {
  constexpr std::size_t digits = 16;
  if (text.size() == id_prefix.size() + digits && text.starts_with(id_prefix) &&
      text.find_first_not_of("0123456789abcdef", id_prefix.size()) == text.npos)
    return std::stoull(text.substr(id_prefix.size()), nullptr, digits);
  throw std::invalid_argument(
      "'" + text + "' is not an object id, which is obj_ followed by 16 hexadecimal digits");
}

}  // namespace

detail::object_place const& remote_object::place() const {
  if (!place_) throw std::logic_error("the remote_object is empty");
  return *place_;
}

detail::object_caller& remote_object::caller() const {
  auto const& p = place();
  if (!caller_)
    throw std::logic_error("a handle of " + p.class_name + " on " + p.task +
                           " that was read from JSON can be used only in functions and methods of "
                           "workers; in a coordinator use get_object");
  return *caller_;
}

void remote_object::write(boost::json::value& to) const {
  auto const& p = place();
  to = boost::json::object{{id_key, std::string(id_prefix) + hex16(p.id)},
                           {"task", p.task},
                           {"class", p.class_name},
                           {"ticket", base64(p.ticket)}};
}

remote_object remote_object::read(boost::json::value const& from) {
  auto const* o = from.if_object();
  if (!o)
    throw std::invalid_argument("an object handle must be a JSON object with the member '$object'");
  detail::object_place p;
  p.id = id_of(member(*o, id_key));
  p.task = member(*o, "task");
  p.class_name = member(*o, "class");
  auto ticket = from_base64(member(*o, "ticket"));
  if (!ticket) throw std::invalid_argument("the ticket of a handle is not base64");
  p.ticket = std::move(*ticket);
  return {std::make_shared<detail::object_place const>(std::move(p)),
          detail::object_caller_scope::caller()};
}

}  // namespace muster
