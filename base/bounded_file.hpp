// Reads small files whose names come from users: settings, credentials, certificates. Any thread.
#pragma once

#include <cstddef>
#include <string>

#include "base/status.hpp"

namespace muster {

/// Enough for any file of settings, tokens or certificates.
inline constexpr std::size_t named_file_bytes_max = std::size_t{1} << 20;

/// Pipes that read_bounded_file remembers. Beyond it, the oldest is forgotten.
inline constexpr std::size_t named_pipes_max = 16;

/// Reads a whole file, up to a limit, so that endless devices are rejected. A pipe, such as a
/// shell's `<(…)`, is read once per process; later calls with the same path return the same
/// content.
/// @return the content. NOT_FOUND: unreadable. INVALID_ARGUMENT: more than `bytes_max` bytes. The
/// message does not contain the file's name.
result<std::string> read_bounded_file(std::string const& path,
                                      std::size_t bytes_max = named_file_bytes_max);

/// Returns the first line of a file, such as a token, without trailing white space.
/// @return the line. Errors: as read_bounded_file. INVALID_ARGUMENT: the line is empty.
result<std::string> first_line_of(std::string const& path);

}  // namespace muster
