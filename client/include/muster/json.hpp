// JSON text to boost::json values and back, with this library's limits.
#pragma once

#include <boost/json/value.hpp>
#include <string>

#include "muster/value.hpp"

namespace muster {

/// Nesting of arrays and objects that from_json accepts.
inline constexpr std::size_t json_depth_max = 256;

/// Errors: function_error of kind INPUT (not JSON, nested too deeply).
boost::json::value from_json(value_view text);

/// Errors: function_error of kind USER where a number is NaN or infinite, which JSON cannot carry;
/// the message says where.
std::string to_json(boost::json::value const& v);

}  // namespace muster
