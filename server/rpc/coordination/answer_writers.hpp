// Passes answers to gRPC. One event can answer a thousand calls, and gRPC 1.51 writes each answer
// in the calling thread, in about 10 us. The answers of one engine turn are therefore collected and
// shared with helper threads, which use only gRPC. gRPC reports completion through the completion
// queue. If a turn produces an error, the engine thread writes the answers in order, because causes
// must precede consequences.
//
// Owned by the coordination service; used only on the engine thread.
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
  /// @param helpers Maximum number of additional threads, which start on demand.
  answer_writers(coro::engine_context& engine, unsigned helpers);
  answer_writers(answer_writers const&) = delete;

  /// Adds an answer, which is written before the engine waits again. If `in_order` is set, all
  /// answers of the turn are written in the order in which they were added. REQUIRES: `operations`
  /// is valid until its tag is returned.
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
  bool in_order_ = false;

  // Members that the helper threads also use.
  std::mutex mutex_;
  std::condition_variable_any work_;
  std::shared_ptr<batch> batch_;

  std::vector<std::jthread> threads_;  // last member, because the threads use the other members
};

}  // namespace muster::server
