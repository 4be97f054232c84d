// Reads small files with user-supplied names: settings, credentials, certificates. Any thread.
#pragma once

#include <cstddef>
#include <string>

#include "base/status.hpp"

namespace muster {

inline constexpr std::size_t named_file_bytes_max = std::size_t{1} << 20;

/// At the limit, the oldest is dropped.
inline constexpr std::size_t named_pipes_max = 16;

/// Reads a whole file, up to a limit that also rejects endless devices. A pipe, such as a shell's
/// `<(…)`, is read once per process; later calls with the same path return the same content.
/// @return the content; NOT_FOUND if the file is unreadable; INVALID_ARGUMENT if it has more than
/// `bytes_max` bytes. The message does not contain the file name.
result<std::string> read_bounded_file(std::string const& path,
                                      std::size_t bytes_max = named_file_bytes_max);

/// Returns the first line of a file, such as a token, without trailing white space. Fails like
/// read_bounded_file, and with INVALID_ARGUMENT if the line is empty.
result<std::string> first_line_of(std::string const& path);

}  // namespace muster
