#include "muster/detail/conversion.hpp"

#include <boost/json.hpp>

#include "base/plain_text.hpp"
#include "base/utf8.hpp"
#include "client/error_text.hpp"
#include "muster/function_error.hpp"
#include "muster/json.hpp"
#include "muster/per_worker.hpp"

namespace muster::detail {
namespace {

namespace json = boost::json;

[[noreturn]] void reject(std::string const& why) {
  throw function_error(failure_kind::input, why, "muster::argument_error");
}

std::string title_of(parameter p) {
  auto const number = "argument " + std::to_string(p.position + 1);
  return p.name.empty() ? number : number + " (" + std::string(p.name) + ")";
}

void take_positional(json::array& given, argument_values& out) {
  if (given.size() > out.size())
    reject("takes at most " + std::to_string(out.size()) + " arguments, " +
           std::to_string(given.size()) + " were given");
  for (std::size_t i = 0; i < given.size(); ++i) out[i] = std::move(given[i]);
}

void take_keywords(json::object& given, std::vector<std::string> const& parameters,
                   argument_values& out) {
  for (auto& member : given) {
    std::string_view const key = member.key();
    std::size_t i = 0;
    while (i < parameters.size() && i < out.size() && parameters[i] != key) ++i;
    if (i == parameters.size() || i == out.size())
      reject("takes no argument named '" + std::string(key) + "'");
    if (out[i]) reject("argument '" + std::string(key) + "' is given twice");
    out[i] = std::move(member.value());
  }
}

std::string_view kind_of(json::value const& v) {
  switch (v.kind()) {
    case json::kind::null:
      return "null";
    case json::kind::bool_:
      return "a boolean";
    case json::kind::string:
      return "a string";
    case json::kind::array:
      return "an array";
    case json::kind::object:
      return "an object";
    default:
      return "a number";
  }
}

std::string excerpt(json::value const& v) {
  constexpr std::size_t shown_max = 40;
  if (v.is_structured()) return {};
  if (v.is_double()) return " " + plain_decimal(v.get_double());
  return " " + shortened(json::serialize(v), shown_max);
}

}  // namespace

argument_values argument_list(context const& c, value_view args,
                              std::vector<std::string> const& parameters, std::size_t count) {
  argument_values out(count);
  auto parsed = from_json(args);
  if (c.per_worker() && c.per_worker()->resolve) c.per_worker()->resolve(parsed);
  if (parsed.is_array()) {
    take_positional(parsed.get_array(), out);
    return out;
  }
  if (!parsed.is_object()) reject("arguments must be an array, or an object with args and kwargs");
  for (auto& member : parsed.get_object()) {
    if (member.key() == "args" && member.value().is_array())
      take_positional(member.value().get_array(), out);
    else if (member.key() != "kwargs" || !member.value().is_object())
      reject(
          "arguments given as an object must have \"args\", an array, and \"kwargs\", an object");
  }
  if (auto* keywords = parsed.get_object().if_contains("kwargs"))
    take_keywords(keywords->get_object(), parameters, out);
  return out;
}

std::any kept_object(context const& c, json::value const& got, parameter p) {
  auto const handle = muster::per_worker_handle(got);
  if (!handle) throw_wrong_type(p, "a per-worker value, {\"$per_worker\":\"pw_…\"}", got);
  return c.per_worker() ? c.per_worker()->find(*handle) : std::any();
}

void keep_object(context const& c, std::any object, value& result) {
  if (!c.per_worker() || !c.per_worker()->keep)
    throw function_error(
        "the function returns an object, which cannot be sent; it can only build a per-worker "
        "value",
        "muster::per_worker_error");
  *c.per_worker()->keep = std::move(object);
  result.bytes = "null";
}

void throw_wrong_object(parameter p, json::value const& got) {
  reject(title_of(p) + ": " + json::serialize(got) + " is a value of another type");
}

void throw_missing(parameter p, std::size_t count) {
  reject(title_of(p) + " of " + std::to_string(count) + " is missing");
}

void throw_misfit(parameter p, misfit const& m) {
  reject(title_of(p) + m.path + ": expected " + m.expected + ", got " +
         std::string(kind_of(m.got)) + excerpt(m.got));
}

void throw_wrong_type(parameter p, std::string_view expected, json::value const& got) {
  throw_misfit(p, {{}, std::string(expected), got});
}

void throw_not_converted(parameter p, json::value const& got, std::exception const& why) {
  reject(title_of(p) + ": got " + std::string(kind_of(got)) + excerpt(got) +
         ", which cannot be converted: " + error_text(why));
}

}  // namespace muster::detail
