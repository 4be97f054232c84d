// The table has one bit per descriptor.
#include "client/blobs/forked.hpp"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

namespace muster::detail {
namespace {

// Descriptors above this limit are not marked; a forked process keeps them, like other libraries'
// descriptors.
constexpr int marked_max = 1 << 16;
constexpr int bits = 64;

std::array<std::atomic<std::uint64_t>, marked_max / bits> marked;
void (*then_in_child)() = nullptr;

void close_marked() {
  for (std::size_t word = 0; word < marked.size(); ++word)
    for (auto left = marked[word].exchange(0); left != 0; left &= left - 1)
      close(static_cast<int>(word) * bits + std::countr_zero(left));
  then_in_child();
}

std::uint64_t bit_of(int fd) {
  return std::uint64_t{1} << (fd % bits);
}

}  // namespace

void close_marked_in_forks(void (*then)()) {
  then_in_child = then;
  pthread_atfork(nullptr, nullptr, close_marked);
}

closed_in_forks::closed_in_forks(int fd) {
  if (fd < 0 || fd >= marked_max) return;
  fd_ = fd;
  marked[static_cast<std::size_t>(fd / bits)].fetch_or(bit_of(fd));
}

void closed_in_forks::reset() {
  if (fd_ < 0) return;
  marked[static_cast<std::size_t>(fd_ / bits)].fetch_and(~bit_of(fd_));
  fd_ = -1;
}

}  // namespace muster::detail
