// Descriptors that a forked process must close. The kernel frees memory, and reports the end of a
// connection, only when the last process has closed the descriptor. The table has no lock, so that
// a fork is possible at any time.
#pragma once

#include <utility>

namespace muster::detail {

/// In each process forked from now on, closes the marked descriptors and then calls `then`. Must be
/// called once.
void close_marked_in_forks(void (*then)());

/// Marks a descriptor while this object exists. Must be declared after the descriptor's owner, so
/// that the mark is removed first.
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
  void reset();

 private:
  int fd_ = -1;
};

}  // namespace muster::detail
