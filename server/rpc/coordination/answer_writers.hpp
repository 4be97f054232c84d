// Answers on their way to gRPC. One event may answer a thousand calls, and gRPC writes each to its
// connection in the thread that hands it over, some 10 us at a time. So the answers of one turn of
// the engine are collected, and when there are many, other threads hand them over beside the
// engine's. They touch nothing but gRPC: that an answer is out is told through the completion
// queue, as ever. Good news goes out in any order; errors are answered causes first, so a turn that
// has one is left to the engine's thread. gRPC 1.51 needs all this; not tried with a newer one.
//
// Owned by the coordination service, engine thread only. No limit of its own: each call is answered
// once, and calls have theirs.
#pragma once

#include <grpcpp/impl/call.h>
#include <grpcpp/impl/call_op_set_interface.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "coro/engine_context.hpp"

namespace muster::server {

class answer_writers {
 public:
  /// `helpers`: threads besides the engine's, which start when first needed; fewer where the system
  /// has none to give. REQUIRES: at its end all that was added is out.
  answer_writers(coro::engine_context& engine, unsigned helpers);
  answer_writers(answer_writers const&) = delete;

  /// Started before the engine waits again. `in_order`: this one and all others of the turn go out
  /// in the order in which they were added. REQUIRES: `operations` live until their tag comes back.
  void add(grpc::internal::Call const& call, grpc::internal::CallOpSetInterface& operations,
           bool in_order);

 private:
  struct answer {
    grpc::internal::Call call;
    grpc::internal::CallOpSetInterface* operations;
  };
  struct batch {
    std::vector<answer> answers;
    std::atomic<std::size_t> next = 0;
  };

  void flush();
  void start_helpers();
  static void write(batch& b);
  void help(std::stop_token const& stop);

  coro::engine_context& engine_;
  unsigned const helpers_;
  std::vector<answer> pending_;
  bool in_order_ = false;  // what is pending

  // shared with the helpers
  std::mutex mutex_;
  std::condition_variable_any work_;
  std::shared_ptr<batch> batch_;  // the newest

  std::vector<std::jthread> threads_;  // last: they use the above
};

}  // namespace muster::server
