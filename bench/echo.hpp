// A synchronous gRPC echo service in a separate process, and calls to it, as a reference.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "bench/process.hpp"

namespace muster::bench {

class echo_process {
 public:
  echo_process();
  ~echo_process();
  /// Makes calls one after another for `span`; appends the microseconds of each to `into`.
  void run(std::chrono::steady_clock::duration span, std::vector<double>& into);

 private:
  struct stub;
  std::string ready_;
  process server_;
  std::unique_ptr<stub> stub_;
};

/// Implements the hidden command `muster bench echo-server`: serves until killed.
int serve_echo(std::string const& ready_file);

}  // namespace muster::bench
