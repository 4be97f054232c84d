// The server that the coordination benchmarks measure: a new one with a cluster of a given size, or
// an existing one. With its process id, CPU time and memory are measured as well.
#pragma once

#include <optional>
#include <string>

#include "bench/cluster.hpp"
#include "bench/options.hpp"

namespace muster::bench {

class coordination_target {
 public:
  /// REQUIRES: An existing server has a fresh cluster of exactly `agents` tasks, without a shutdown
  /// barrier.
  coordination_target(options const& o, int agents);

  std::string const& address() const { return address_; }
  /// Returns whether CPU time and memory are available.
  bool measured() const { return pid_ > 0; }
  std::chrono::microseconds cpu_time() const;
  std::size_t resident_bytes() const;

 private:
  std::optional<cluster> own_;
  std::string address_;
  int pid_ = 0;
};

}  // namespace muster::bench
