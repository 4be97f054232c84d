// Owning file descriptor.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace muster {

class file_descriptor {
 public:
  file_descriptor() = default;
  explicit file_descriptor(int fd) : fd_(fd) {}
  file_descriptor(file_descriptor&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  file_descriptor& operator=(file_descriptor&& o) noexcept {
    std::swap(fd_, o.fd_);
    return *this;
  }
  ~file_descriptor() { reset(); }

  explicit operator bool() const { return fd_ >= 0; }
  int get() const { return fd_; }
  /// The caller must close the descriptor.
  int release() { return std::exchange(fd_, -1); }
  void reset() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

/// Wraps the result of a call that opens a descriptor.
/// @throws std::system_error with errno and `what` if the call failed
inline file_descriptor opened(int fd, char const* what) {
  if (fd < 0) throw std::system_error(errno, std::generic_category(), what);
  return file_descriptor(fd);
}

}  // namespace muster
