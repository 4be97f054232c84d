// Reads JSON that people and other programs wrote: a fault is one line with its position, and a key
// that is there twice is a fault (Boost.JSON would silently keep the last).
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <string_view>

namespace muster::cluster {

namespace json = boost::json;

/// Bytes of one text.
constexpr std::size_t json_bytes_max = 64 * 1024 * 1024;

/// invalid: "TF_CONFIG: not JSON at line 1, column 9: syntax error".
json::value parse_json(std::string_view text, std::string const& origin);
/// "an object", "a list", "a string", "a number", "true or false", "null".
std::string_view kind_name(json::value const& v);

}  // namespace muster::cluster
