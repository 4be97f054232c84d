// The readable description of a pickled Python call, which the client appends to the arguments
// (python/muster/_pickled/shown.py). Nothing is unpickled. Thread-safe.
#pragma once

#include <cstddef>
#include <string_view>

namespace muster::web {

/// Maximum length of a description. Longer descriptions are ignored; the client writes at most 120
/// characters.
inline constexpr std::size_t python_text_max = 1024;

/// Returns an empty string if `call` is not a pickled call or has no description. A description
/// from a client can contain any bytes.
std::string_view python_arguments_text(std::string_view call);

}  // namespace muster::web
