// Descriptors that a forked process must not keep, since the kernel frees memory and reports the
// end of a connection only when the last process has closed them. The table takes no lock, so that
// a fork may happen at any moment.
#pragma once

#include <utility>

namespace muster::detail {

/// Closes what is marked in each process that is forked from here on, and then calls `then` there.
/// Once.
void close_marked_in_forks(void (*then)());

/// Marks a descriptor while it lives. Declare it behind the owner of the descriptor, so that the
/// mark goes first.
class closed_in_forks {
 public:
  closed_in_forks() = default;
  explicit closed_in_forks(int fd);
  closed_in_forks(closed_in_forks&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  closed_in_forks& operator=(closed_in_forks&& o) noexcept {
    std::swap(fd_, o.fd_);
    return *this;
  }
  ~closed_in_forks() { reset(); }
  /// Removes the mark.
  void reset();

 private:
  int fd_ = -1;
};

}  // namespace muster::detail
