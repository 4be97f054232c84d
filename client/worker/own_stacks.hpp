// Where the threads of this process are, for a server that asks (muster stacks): looked at from
// outside by a process that lives for the look alone, and named on a thread of its own.
//
// Owned by a worker. take() on its engine thread; `told` is called by the other one, or
// from inside of take().
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <functional>

#include "muster/v1/worker.pb.h"

namespace muster {

class own_stacks {
 public:
  /// Questions that are being answered. More: busy.
  static constexpr int asked_max = 2;
  static constexpr std::size_t text_bytes_max = std::size_t{16} << 10;

  using told_function = std::function<void(v1::TaskStack)>;
  explicit own_stacks(told_function told) : told_(std::move(told)) {}
  own_stacks(own_stacks const&) = delete;

  void take(std::uint64_t query);
  /// What was told has been heard, on the engine thread.
  void taken() { --asked_; }
  /// Nothing is told any more once it returns; waits for a look that is under way, a second at
  /// most.
  void end();

 private:
  told_function const told_;
  int asked_ = 0;
  boost::asio::thread_pool looker_{1};
};

}  // namespace muster
