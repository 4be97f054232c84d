// Parses JSON written by users and other programs. Each error is one line that contains the
// position. Duplicate keys are errors, because Boost.JSON would silently keep the last value.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <string_view>

namespace muster::cluster {

namespace json = boost::json;

constexpr std::size_t json_bytes_max = 64 * 1024 * 1024;

/// @param origin beginning of error messages, as in "TF_CONFIG: not JSON at line 1, column 9:
///   syntax error"
/// @throws cluster_error (invalid) if the text is malformed
json::value parse_json(std::string_view text, std::string const& origin);
/// Returns "an object", "a list", "a string", "a number", "true or false" or "null".
std::string_view kind_name(json::value const& v);

}  // namespace muster::cluster
