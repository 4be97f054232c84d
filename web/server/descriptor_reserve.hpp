// File descriptors that are held back, so that a request about the server's health finds one when
// the process has no other left. Owned by the web server, web thread.
#pragma once

#include <cstddef>
#include <vector>

#include "coro/unique_fd.hpp"

namespace muster::web {

class descriptor_reserve {
 public:
  /// Takes as many as there are, up to `size`.
  explicit descriptor_reserve(std::size_t size);

  /// Gives one back to the process, for the next accept to take. False: none is left.
  bool lend();
  /// Takes back what the process can spare.
  void refill();
  bool full() const { return held_.size() == size_; }

 private:
  std::size_t const size_;
  std::vector<coro::unique_fd> held_;
};

}  // namespace muster::web
