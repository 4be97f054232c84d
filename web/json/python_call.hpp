// What a Python client says of a pickled call, for people: the text at the end of the arguments, as
// python/muster/_pickled/shown.py writes it. Nothing is unpickled. Any thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace muster::web {

/// Longer ones are taken for none: the client's own are 120 characters.
inline constexpr std::size_t python_text_max = 1024;

/// The text within `call`; empty where it is no pickled call, or says nothing. It is what a client
/// wrote, so it may be anything, also no UTF-8.
std::string_view python_arguments_text(std::string_view call);

}  // namespace muster::web
