// An open file descriptor, and error messages of stores. Errors are errno values; 0 means success.
// Only reads are thread-safe.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/no_room.hpp"

namespace muster::server {

inline bool is_full(int error) {
  return error == ENOSPC || error == EDQUOT;
}
inline std::string reason_of(int error) {
  return std::generic_category().message(error);
}

/// Returns the status of a failed operation on `path`: no_room with the free space if the disk is
/// full, otherwise INTERNAL with "path: operation: reason".
inline muster::status disk_error(std::filesystem::path const& path, int error,
                                 std::string const& what = {}) {
  if (is_full(error)) {
    std::error_code unknown;
    auto const space = std::filesystem::space(path.parent_path(), unknown);
    return no_room(path.parent_path().string(),
                   unknown ? reason_of(error)
                           : reason_of(error) + ", " + std::to_string(space.available >> 20) +
                                 " MiB are free");
  }
  return {code::internal,
          path.string() + ": " + (what.empty() ? what : what + ": ") + reason_of(error)};
}

class open_file {
 public:
  open_file() = default;
  /// A new file is accessible only to its owner. On failure, the object is false and errno is set.
  open_file(std::filesystem::path const& path, int flags)
      : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0600)) {}
  open_file(open_file&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  open_file& operator=(open_file&& o) noexcept {
    std::swap(fd_, o.fd_);
    return *this;
  }
  ~open_file() { close(); }

  explicit operator bool() const { return fd_ >= 0; }
  int fd() const { return fd_; }

  int write(std::string_view bytes) const {
    while (!bytes.empty()) {
      auto const n = ::write(fd_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return 0;
  }
  /// Returns the number of bytes read, which is less than `n` only at the end of the file, or -1
  /// with errno set.
  std::int64_t read(std::uint64_t at, char* into, std::size_t n) const {
    std::size_t got = 0;
    while (got < n) {
      auto const more = ::pread(fd_, into + got, n - got, static_cast<off_t>(at + got));
      if (more < 0 && errno == EINTR) continue;
      if (more < 0) return -1;
      if (more == 0) break;
      got += static_cast<std::size_t>(more);
    }
    return static_cast<std::int64_t>(got);
  }
  int sync() const { return ::fsync(fd_) == 0 ? 0 : errno; }
  /// Closes the file. Check the result, which can report a full disk.
  int close() {
    auto const fd = std::exchange(fd_, -1);
    return fd < 0 || ::close(fd) == 0 ? 0 : errno;
  }

 private:
  int fd_ = -1;
};

inline int sync_directory(std::filesystem::path const& directory) {
  open_file const d(directory, O_RDONLY | O_DIRECTORY);
  return d ? d.sync() : errno;
}

}  // namespace muster::server
