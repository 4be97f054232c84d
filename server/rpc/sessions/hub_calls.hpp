// Unary calls that wait for the hub's reply. Owned by coordinator_calls; used only on the engine
// thread.
#pragma once

#include <string>
#include <unordered_set>
#include <utility>

#include "coro/event.hpp"
#include "coro/task.hpp"
#include "server/hub/pools.hpp"

namespace muster::server {

class hub_calls {
 public:
  hub_calls(pools& all, coro::engine_context& engine) : pools_(all), engine_(engine) {}
  hub_calls(hub_calls const&) = delete;

  /// Sends an event to the hub and waits for the reply. The hub may be removed during the wait.
  /// Returns CANCELLED if the caller has disconnected, and UNAVAILABLE after stop(). No deadline is
  /// needed, because each event that waits in the core has its own deadline.
  template <class Call, class Event>
  [[nodiscard]] coro::task<core::reply> ask(server::hub& h, Call& of, Event event) {
    waiting call(engine_);
    call.id = h.ask(std::move(event), [&call](core::reply const& r) {
      call.answer = r;
      call.there = true;
      call.answered.set();
    });
    if (call.there) co_return std::move(call.answer);
    if (stopped_) {
      give_up(call, shutting_down());
      co_return std::move(call.answer);
    }
    waiting_.insert(&call);
    of.on_cancel([this, &call] {
      give_up(call, {muster::code::cancelled, "the caller has disconnected"});
    });
    co_await call.answered.wait();
    of.on_cancel([] {});
    waiting_.erase(&call);
    co_return std::move(call.answer);
  }

  /// Answers all waiting calls, and every later call.
  void stop() {
    stopped_ = true;
    for (auto* call : waiting_) give_up(*call, shutting_down());
  }

 private:
  struct waiting {
    explicit waiting(coro::engine_context& engine) : answered(engine) {}
    core::reply answer;
    bool there = false;
    coro::event answered;
    core::call_id id{};
  };

  void give_up(waiting& call, muster::status why) {
    pools_.forget(call.id);
    call.answer.status = std::move(why);
    call.answered.set();
  }
  static muster::status shutting_down() {
    return {muster::code::unavailable, "the server is shutting down"};
  }

  pools& pools_;
  coro::engine_context& engine_;
  std::unordered_set<waiting*> waiting_;
  bool stopped_ = false;
};

}  // namespace muster::server
