// Says once that the process has no file descriptor left, however often that is noticed and by how
// many threads: until nobody has noticed it for ten seconds. Owned by the composition root; any
// thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

#include "server/app/process.hpp"

namespace muster::server {

class descriptor_shortage {
 public:
  /// `limit`: of descriptors, for the text.
  explicit descriptor_shortage(std::uint64_t limit) : limit_(limit) {}

  void noticed();

 private:
  std::uint64_t const limit_;
  std::mutex mutex_;  // protects the following
  std::optional<std::chrono::steady_clock::time_point> last_;
};

}  // namespace muster::server
