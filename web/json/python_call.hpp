// The readable description of a pickled Python call. The client appends it to the arguments; see
// python/muster/_pickled/shown.py. Nothing is unpickled. Any thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace muster::web {

/// Longer descriptions are ignored. The client writes at most 120 characters.
inline constexpr std::size_t python_text_max = 1024;

/// Returns the description within `call`, or an empty string if `call` is not a pickled call or has
/// no description. The client wrote the description, so it can contain any bytes.
std::string_view python_arguments_text(std::string_view call);

}  // namespace muster::web
