// Open files that nobody reads, one for each descriptor.
#include "web/server/descriptor_reserve.hpp"

#include <fcntl.h>

namespace muster::web {

descriptor_reserve::descriptor_reserve(std::size_t size) : size_(size) {
  refill();
}

bool descriptor_reserve::lend() {
  if (held_.empty()) return false;
  held_.pop_back();
  return true;
}

void descriptor_reserve::refill() {
  while (!full()) {
    coro::unique_fd file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) return;
    held_.push_back(std::move(file));
  }
}

}  // namespace muster::web
