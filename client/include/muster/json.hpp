// Converts JSON text to boost::json values and back.
#pragma once

#include <boost/json/value.hpp>
#include <string>

#include "muster/value.hpp"

namespace muster {

/// Maximum nesting depth that from_json accepts.
inline constexpr std::size_t json_depth_max = 256;

/// Parses JSON text.
/// @param text  JSON text
/// @throws function_error  INPUT: the text is not JSON or is nested too deeply
boost::json::value from_json(value_view text);

/// Serializes a value as JSON text.
/// @param v  the value
/// @throws function_error  USER: a number is NaN or infinite, which JSON cannot represent; the
///   message contains its position
std::string to_json(boost::json::value const& v);

}  // namespace muster
