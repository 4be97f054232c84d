// Reads small files that a person has named: settings, credentials, certificates. Any thread.
#pragma once

#include <cstddef>
#include <string>

#include "base/status.hpp"

namespace muster {

/// Enough for any file of settings, tokens or certificates.
inline constexpr std::size_t named_file_bytes_max = std::size_t{1} << 20;

/// How many pipes read_bounded_file remembers; a further one takes the place of the oldest.
inline constexpr std::size_t named_pipes_max = 16;

/// Reads a whole file. It stops at the limit, so that a device without an end is refused, too.
/// A pipe, such as `<(…)` of a shell, is read once in a process: later calls with the same path
/// return the same content.
/// @return the content. NOT_FOUND: the file cannot be read. INVALID_ARGUMENT: it has more than
///   `bytes_max` bytes. The text says why, and does not name the file.
result<std::string> read_bounded_file(std::string const& path,
                                      std::size_t bytes_max = named_file_bytes_max);

/// Returns the first line of a file without white space at its end, such as a token.
/// @return the line. Errors: those of read_bounded_file; INVALID_ARGUMENT: the line is empty.
result<std::string> first_line_of(std::string const& path);

}  // namespace muster
