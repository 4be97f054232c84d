// Reserves file descriptors by opening files, so that a health request can be accepted when no
// other descriptor is free. Owned by the web server; used on the web thread.
#pragma once

#include <fcntl.h>

#include <cstddef>
#include <vector>

#include "base/process/file_descriptor.hpp"

namespace muster::web {

class descriptor_reserve {
 public:
  /// Opens as many descriptors as are available.
  explicit descriptor_reserve(std::size_t size) : size_(size) { refill(); }

  /// Releases a descriptor for the next accept. Returns false if the reserve is empty.
  bool lend() {
    if (held_.empty()) return false;
    held_.pop_back();
    return true;
  }
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
