// A synchronous gRPC echo service in a process of its own, and calls to it: the yardstick.
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
  /// Calls one after another for `span`; microseconds of each go to `into`.
  void run(std::chrono::steady_clock::duration span, std::vector<double>& into);

 private:
  struct stub;
  std::string ready_;
  process server_;
  std::unique_ptr<stub> stub_;
};

/// The body of the hidden `muster bench echo-server`: serves until killed.
int serve_echo(std::string const& ready_file);

}  // namespace muster::bench
