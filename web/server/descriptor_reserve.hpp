// File descriptors that are held back, so that a request about the server's health finds one when
// the process has no other left: open files that nobody reads. Owned by the web server, web thread.
#pragma once

#include <fcntl.h>

#include <cstddef>
#include <vector>

#include "base/process/file_descriptor.hpp"

namespace muster::web {

class descriptor_reserve {
 public:
  /// Takes as many as there are, up to `size`.
  explicit descriptor_reserve(std::size_t size) : size_(size) { refill(); }

  /// Gives one back to the process, for the next accept to take. False: none is left.
  bool lend() {
    if (held_.empty()) return false;
    held_.pop_back();
    return true;
  }
  /// Takes back what the process can spare.
  void refill() {
    while (!full()) {
      file_descriptor file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
      if (file.get() < 0) return;
      held_.push_back(std::move(file));
    }
  }
  bool full() const { return held_.size() == size_; }

 private:
  std::size_t const size_;
  std::vector<file_descriptor> held_;
};

}  // namespace muster::web
