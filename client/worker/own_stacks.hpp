// Stacks of this process's threads, requested by a server (muster stacks). A short-lived process
// samples the stacks from outside, and a separate thread resolves the frame names.
//
// take() must be called on the engine thread. take() or the separate thread calls `told`.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <functional>

#include "muster/v1/worker.pb.h"

namespace muster {

class own_stacks {
 public:
  /// Maximum number of requests in progress; further requests are answered "busy".
  static constexpr int asked_max = 2;
  static constexpr std::size_t text_bytes_max = std::size_t{16} << 10;

  using told_function = std::function<void(v1::TaskStack)>;
  explicit own_stacks(told_function told) : on_stack_(std::move(told)) {}
  own_stacks(own_stacks const&) = delete;

  void take(std::uint64_t query);
  /// Must be called on the engine thread after an answer of `told` has been processed.
  void taken() { --asked_; }
  /// Waits for sampling to end, for at most a second. `told` is not called afterwards.
  void end();

 private:
  told_function const on_stack_;
  int asked_ = 0;
  boost::asio::thread_pool sampler_{1};
};

}  // namespace muster
