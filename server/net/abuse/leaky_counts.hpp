// Detects names with too many events, such as connections whose calls are reset too often. Each
// name has a leaky bucket, which occasional events never fill. Used by one thread at a time; the
// caller passes the time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

namespace muster::net {

struct leaky_limits {
  std::uint32_t burst = 500;
  std::uint32_t per_second = 50;
  /// Maximum number of names. At the limit, the least recently used half is dropped.
  std::size_t names_max = 8'192;
};

class leaky_counts {
 public:
  using clock = std::chrono::steady_clock;

  explicit leaky_counts(leaky_limits limits) : limits_(limits) {}

  /// Counts an event. If the bucket overflows, empties it and returns true.
  bool note(std::string const& name, clock::time_point now);
  /// Drops the bucket of this name. Must be called when a new connection uses the name.
  void forget(std::string const& name);

  [[nodiscard]] std::size_t names() const { return young_.size() + old_.size(); }

 private:
  struct bucket {
    double filled = 0;
    clock::time_point at{};
  };

  leaky_limits const limits_;
  std::unordered_map<std::string, bucket> young_, old_;
};

}  // namespace muster::net
