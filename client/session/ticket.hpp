// A cancellable operation: a user's call, an agent's heartbeats, or an agent's error poll. The
// ticket is a local variable of the operation's coroutine. Used only on the engine thread.
#pragma once

#include <grpcpp/client_context.h>

#include <cstdint>
#include <set>

#include "coro/timer_queue.hpp"

namespace muster::detail {

class ticket {
 public:
  enum class cut : std::uint8_t {
    none,
    cancelled,  // the caller stopped waiting for the operation
    left,       // the task left the barrier
    failed,
    closed,  // the agent was shut down or destroyed
  };

  /// If `all` is not null, it must outlive the ticket.
  ticket(coro::engine_context& engine, std::set<ticket*>* all) : pause_(engine), all_(all) {
    if (all_) all_->insert(this);
  }
  ~ticket() {
    if (all_) all_->erase(this);
  }
  ticket(ticket const&) = delete;

  /// Ends the operation for this reason; later reasons are ignored. If the coroutine is suspended,
  /// the engine's loop resumes it.
  void cut_short(cut why) {
    if (why_ == cut::none) why_ = why;
    if (context_ != nullptr) context_->TryCancel();
    pause_.cancel();
  }
  cut why() const { return why_; }
  bool is_cut() const { return why_ != cut::none; }

  coro::timer& pause() { return pause_; }
  /// Sets the current gRPC call, or null.
  void calls(grpc::ClientContext* context) { context_ = context; }

 private:
  coro::timer pause_;
  std::set<ticket*>* const all_;
  grpc::ClientContext* context_ = nullptr;
  cut why_ = cut::none;
};

}  // namespace muster::detail
