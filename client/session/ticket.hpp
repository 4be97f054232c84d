// One piece of work on the engine thread that can be cut short: a call of a user, an agent's
// heartbeats, its poll for errors. Lives in the coroutine that does the work; an agent knows all of
// its own. Engine thread only.
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
    cancelled,  // by whoever waits for it
    left,       // the barrier
    failed,     // the agent
    closed,     // the agent was shut down or destroyed
  };

  /// `all`: of those that it is to be known among, or null. REQUIRES: that outlives it.
  ticket(coro::engine_context& engine, std::set<ticket*>* all) : pause_(engine), all_(all) {
    if (all_) all_->insert(this);
  }
  ~ticket() {
    if (all_) all_->erase(this);
  }
  ticket(ticket const&) = delete;

  /// The first reason counts. What is suspended resumes from the engine's loop.
  void cut_short(cut why) {
    if (why_ == cut::none) why_ = why;
    if (context_ != nullptr) context_->TryCancel();
    pause_.cancel();
  }
  cut why() const { return why_; }
  bool is_cut() const { return why_ != cut::none; }

  coro::timer& pause() { return pause_; }
  /// The call under way, null: none.
  void calls(grpc::ClientContext* context) { context_ = context; }

 private:
  coro::timer pause_;
  std::set<ticket*>* const all_;
  grpc::ClientContext* context_ = nullptr;
  cut why_ = cut::none;
};

}  // namespace muster::detail
