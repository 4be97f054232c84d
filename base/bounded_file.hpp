// Reads small files with user-supplied names: settings, credentials, certificates. Thread-safe.
#pragma once

#include <cstddef>
#include <string>

#include "base/status.hpp"

namespace muster {

inline constexpr std::size_t named_file_bytes_max = std::size_t{1} << 20;

/// At this limit, the oldest pipe is dropped.
inline constexpr std::size_t named_pipes_max = 16;

/// Reads a whole file, up to a limit that also rejects endless devices. Each process reads a pipe,
/// such as a shell's `<(…)`, only once; later calls with its path return the same content.
/// @return the content; NOT_FOUND if the file is unreadable; INVALID_ARGUMENT if the file has more
///   than `bytes_max` bytes. The message does not contain the file name.
result<std::string> read_bounded_file(std::string const& path,
                                      std::size_t bytes_max = named_file_bytes_max);

/// Returns the first line of a file, such as a token, without trailing white space. Returns the
/// errors of read_bounded_file, and INVALID_ARGUMENT if the line is empty.
result<std::string> first_line_of(std::string const& path);

}  // namespace muster
