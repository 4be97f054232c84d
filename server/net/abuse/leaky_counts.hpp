// Counts by name what happens too often, such as calls of a connection that are reset: each name
// has a bucket that leaks, so that who does it now and then never fills it. Owned by whoever
// counts; one thread, time is passed in.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

namespace muster::net {

struct leaky_limits {
  /// What a bucket holds, and how much of it is forgotten in a second.
  std::uint32_t burst = 500;
  std::uint32_t per_second = 50;
  /// Names that are remembered. More: those that were not heard of for longest are forgotten, half
  /// at a time.
  std::size_t names_max = 8'192;
};

class leaky_counts {
 public:
  using clock = std::chrono::steady_clock;

  explicit leaky_counts(leaky_limits limits) : limits_(limits) {}

  /// One more of this name. True: it has gone over the limit, and begins anew.
  bool note(std::string const& name, clock::time_point now);
  /// The name is another's from now on.
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
