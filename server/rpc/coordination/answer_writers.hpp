// Passes answers to gRPC, on several threads if there are many. One event can answer a thousand
// calls, and gRPC writes each answer in the calling thread, in about 10 us. So the answers of one
// turn of the engine are collected, and helper threads share the work. They use only gRPC;
// completion is reported through the completion queue. A turn with an error is written in order by
// the engine thread, because causes must precede their consequences. This is needed with gRPC 1.51.
//
// Owned by the coordination service; engine thread only. Bounded by the number of calls, since each
// is answered once.
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
  /// REQUIRES: all answers are written before the object is destroyed.
  /// @param helpers Number of additional threads, which start on demand; fewer if the system has no
  ///   threads left.
  answer_writers(coro::engine_context& engine, unsigned helpers);
  answer_writers(answer_writers const&) = delete;

  /// Adds an answer, which is written before the engine waits again. With `in_order`, all answers
  /// of the turn are written in the order of their addition. REQUIRES: `operations` are valid until
  /// their tag is returned.
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
  bool in_order_ = false;  // applies to `pending_`

  // Shared with the helpers.
  std::mutex mutex_;
  std::condition_variable_any work_;
  std::shared_ptr<batch> batch_;

  std::vector<std::jthread> threads_;  // last, since they use all members above
};

}  // namespace muster::server
