// The readable descriptions of pickled Python calls and values, which clients and workers append
// (python/muster/_pickled/shown.py). Nothing is unpickled. Thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "server/core/api/blob.hpp"

namespace muster::web {

/// Maximum length of a description. Longer descriptions are ignored; the client writes at most 120
/// characters.
inline constexpr std::size_t python_text_max = 1024;

/// Returns an empty string if `call` is not a pickled call or has no description. A description
/// from a client can contain any bytes.
std::string_view python_arguments_text(std::string_view call);

/// Returns the description of a pickled value, such as "ndarray(2x3 float64) [0, 0.25, …]". `value`
/// is a pickle, or JSON that contains a pickle or refers to one. Returns an empty string for all
/// other values. A description from a worker can contain any bytes.
std::string python_value_text(core::blob const& value);

}  // namespace muster::web
