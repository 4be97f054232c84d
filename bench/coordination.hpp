// The server that the coordination benchmarks measure: one of their own with one cluster of a given
// size, or one that runs already, whose process id may be given so that its time can be read.
#pragma once

#include <optional>
#include <string>

#include "bench/cluster.hpp"
#include "bench/options.hpp"

namespace muster::bench {

class coordination_target {
 public:
  /// REQUIRES of a running server: a fresh cluster of exactly `agents` tasks, no shutdown barrier.
  coordination_target(options const& o, int agents);

  std::string const& address() const { return address_; }
  /// Whether the two below are known.
  bool measured() const { return pid_ > 0; }
  std::chrono::microseconds cpu_time() const;
  std::size_t resident_bytes() const;

 private:
  std::optional<cluster> own_;
  std::string address_;
  int pid_ = 0;
};

}  // namespace muster::bench
