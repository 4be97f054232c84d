#include "muster/json.hpp"

#include <boost/json.hpp>
#include <cmath>

#include "base/utf8.hpp"
#include "muster/function_error.hpp"

namespace muster {
namespace {

namespace json = boost::json;

// Returns the path and kind of the first value that JSON cannot represent, or an empty string.
std::string not_json(json::value const& v) {
  switch (v.kind()) {
    case json::kind::double_:
      if (std::isnan(v.get_double())) return ": NaN";
      if (std::isinf(v.get_double())) return ": an infinite number";
      return {};
    case json::kind::string:
      return is_utf8(v.get_string()) ? std::string() : ": a string that is not UTF-8";
    case json::kind::array:
      for (std::size_t i = 0; i < v.get_array().size(); ++i)
        if (auto const inner = not_json(v.get_array()[i]); !inner.empty())
          return "[" + std::to_string(i) + "]" + inner;
      return {};
    case json::kind::object:
      for (auto const& [key, member] : v.get_object()) {
        if (!is_utf8(key)) return ": a key that is not UTF-8";
        if (auto const inner = not_json(member); !inner.empty())
          return "." + std::string(key) + inner;
      }
      return {};
    default:
      return {};
  }
}

}  // namespace

json::value from_json(value_view text) {
  if (text.encoding != encoding::json)
    throw function_error(failure_kind::input, "the value is raw bytes, not JSON");
  json::parse_options options;
  options.max_depth = json_depth_max;
  boost::system::error_code error;
  auto value = json::parse(text.bytes, error, {}, options);
  if (error) throw function_error(failure_kind::input, "not JSON: " + error.message());
  return value;
}

std::string to_json(json::value const& v) {
  if (auto const where = not_json(v); !where.empty())
    throw function_error("the result cannot be represented as JSON: $" + where,
                         "muster::json_error");
  return json::serialize(v);
}

}  // namespace muster
