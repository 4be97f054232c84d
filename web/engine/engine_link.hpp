// How a coroutine on the web thread calls the engine thread and waits for the answer.
//
//   web thread                       engine thread
//   call(work) ── gateway.post ──►   work(services, slot)
//      │ waits on a timer            … at once or much later: slot->send(value)
//      ◄── mailbox, one wake-up ──── for all answers that have accumulated
//
// Owned by web_server. All functions are called on the web thread, except `answer_promise::send`.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>

#include "coro/mailbox.hpp"
#include "coro/task.hpp"
#include "server/hub/coordination_hub.hpp"
#include "server/hub/pools.hpp"
#include "web/http/peer.hpp"

namespace muster::server {
class blob_store;
class cluster_endpoints;
class event_log;
class token_keeper;
}  // namespace muster::server
namespace muster::torch {
class torch_stores;
}
namespace muster::coro {
class engine_context;
}

namespace muster::web {

struct engine_services {
  server::pools& pools;
  server::coordination_hub& coordination;
  server::event_log& events;
  server::cluster_endpoints& endpoints;
  server::blob_store& blobs;
  server::token_keeper* tokens = nullptr;
  torch::torch_stores* torch = nullptr;
};

/// The web layer's only access to the engine. Runs posted work in order on the engine thread. Owned
/// by the composition root. Thread-safe.
class engine_gateway {
 public:
  /// Calls `may_answer` on the engine thread before each piece of work. It returns only if the
  /// server is still allowed to answer. REQUIRES: engine and services outlive the gateway and all
  /// posted work.
  engine_gateway(coro::engine_context& engine, std::function<void()> may_answer,
                 engine_services services)
      : engine_(engine), may_answer_(std::move(may_answer)), services_(services) {}

  /// Returns false if the gateway is closed; `work` is then destroyed without running. Otherwise
  /// `work` runs, or is destroyed if the engine ends first.
  bool post(std::function<void(engine_services&)> work);
  /// Before open() and after close(), the server is not ready and requests are answered with
  /// UNAVAILABLE.
  void open() { closed_ = false; }
  void close() { closed_ = true; }

 private:
  coro::engine_context& engine_;
  std::function<void()> const may_answer_;
  engine_services services_;
  std::atomic<bool> closed_ = true;
};

/// Answers on their way to the web thread. Shared with the engine; outlives the web_server.
struct completion_queue {
  /// Each request waits for one answer, so connections_max bounds the queue.
  static constexpr std::size_t answers_max = 1 << 16;

  explicit completion_queue(boost::asio::io_context& c) : context(c) {}
  void push(coro::function deliver);
  void drain();

  boost::asio::io_context& context;  // used only while the mailbox is open
  coro::mailbox mail{answers_max};
};

struct answer_wait {
  explicit answer_wait(boost::asio::io_context& c) : timer(c) {}
  coro::task<void> until(std::chrono::steady_clock::time_point deadline);

  boost::asio::steady_timer timer;
  bool peer_disconnected = false;
};

template <class R>
struct answer_state {
  // Only the web thread uses the first four members.
  std::optional<R> value;
  bool dropped = false;           // the engine will not answer
  muster::status failure;         // OK if there is a value
  answer_wait* waiter = nullptr;  // null after the wait has ended
  // Called on the engine thread when the client disconnects.
  std::function<void(engine_services&)> forget;
};

/// The engine's handle for one answer. If it is destroyed without an answer, the wait ends with an
/// error.
template <class R>
class answer_promise {
 public:
  answer_promise(std::shared_ptr<completion_queue> queue, std::shared_ptr<answer_state<R>> state)
      : queue_(std::move(queue)), state_(std::move(state)) {}
  answer_promise(answer_promise const&) = delete;
  answer_promise& operator=(answer_promise const&) = delete;
  ~answer_promise() { deliver(std::nullopt); }

  /// Only the first call has an effect. Thread-safe.
  void send(R value) { deliver(std::optional<R>(std::move(value))); }
  /// Ends the wait with an error. Only the first call has an effect. Thread-safe.
  void fail(muster::status why) { deliver(std::nullopt, std::move(why)); }
  /// Removes the call from the core if the client disconnects. Must be called on the engine thread.
  void parked_as(core::call_id call) {
    when_left([call](engine_services& services) { services.pools.forget(call); });
  }
  /// Calls `forget` on the engine thread if the client disconnects before the answer. Must be
  /// called on the engine thread.
  void when_left(std::function<void(engine_services&)> forget) {
    state_->forget = std::move(forget);
  }

 private:
  void deliver(std::optional<R> value, muster::status why = {}) {
    if (!queue_) return;
    auto queue = std::move(queue_);
    queue->push([state = state_, value = std::move(value), why = std::move(why)]() mutable {
      state->dropped = !value;
      state->failure = std::move(why);
      state->value = std::move(value);
      if (state->waiter) state->waiter->timer.cancel();
    });
  }

  std::shared_ptr<completion_queue> queue_;
  std::shared_ptr<answer_state<R>> state_;
};

template <class R>
using answer_handle = std::shared_ptr<answer_promise<R>>;

/// The result of a wait: result<R>, or R itself if R can represent an error.
template <class R>
struct answer_of {
  using type = muster::result<R>;
};
template <class T>
struct answer_of<muster::result<T>> {
  using type = muster::result<T>;
};
template <>
struct answer_of<muster::status> {
  using type = muster::status;
};
template <class R>
using answer = typename answer_of<R>::type;

/// Calls the hub of the cluster that owns an ID. A value that the work returns immediately is sent
/// once the current state of the ID's session is durable.
template <class Id, class F>
struct pool_work {
  static constexpr bool waits_until_durable = true;

  template <class... Args>
  decltype(auto) operator()(engine_services& services, Args&&... args) {
    return work(services.pools.of(id), std::forward<Args>(args)...);
  }
  void when_durable(engine_services& services, server::commit_queue::callback told) const {
    services.pools.of(id).when_durable(id, std::move(told));
  }
  Id id;
  F work;
};
template <class Id, class F>
auto in_pool_of(Id id, F work) {
  return pool_work<Id, F>{id, std::move(work)};
}

template <class F, class... Args>
decltype(auto) enter(engine_services& services, F& work, Args&&... args) {
  if constexpr (std::is_invocable_v<F&, server::hub&, Args...>)
    return work(services.pools.main(), std::forward<Args>(args)...);
  else
    return work(services, std::forward<Args>(args)...);
}

template <class F>
using value_of = decltype(enter(std::declval<engine_services&>(), std::declval<F&>()));

class engine_link {
 public:
  engine_link(boost::asio::io_context& context, engine_gateway& engine,
              std::chrono::milliseconds limit);
  ~engine_link();
  engine_link(engine_link const&) = delete;
  engine_link& operator=(engine_link const&) = delete;

  /// Runs `work(hub&)` or `work(engine_services&)` on the engine thread and returns its value.
  /// Returns UNAVAILABLE if the server is stopping or the engine does not answer within the limit;
  /// in this case, the work may still run.
  template <class F, class R = value_of<F>>
  coro::task<answer<R>> on_engine(F work) {
    auto run = [work = std::move(work)](engine_services& services,
                                        answer_handle<R> const& slot) mutable {
      if constexpr (requires { F::waits_until_durable; }) {
        if (services.coordination.waits_for_disk()) {
          auto value = std::make_shared<R>(enter(services, work));
          return work.when_durable(services, [slot, value](muster::status const& lost) {
            lost.ok() ? slot->send(std::move(*value)) : slot->fail(lost);
          });
        }
      }
      slot->send(enter(services, work));
    };
    co_return co_await call<R>(std::move(run), limit_, nullptr);
  }

  /// Does not wait for the work, which does not run if the server stops. Returns false if the
  /// engine accepts no work.
  bool post(std::function<void(engine_services&)> work) { return engine_.post(std::move(work)); }

  coro::task<void> pause(std::chrono::milliseconds time) {
    answer_wait wait(context_);
    co_await wait.until(std::chrono::steady_clock::now() + time);
  }

  /// Runs `work(hub& or engine_services&, answer_handle<R>)`; the holder of the handle answers,
  /// immediately or later. If `peer` disconnects, the wait ends with CANCELLED, and the parked call
  /// is removed. Returns UNAVAILABLE as on_engine() does. `limit` should exceed the core's own
  /// deadline.
  template <class R, class F>
  coro::task<answer<R>> call(F work, std::chrono::milliseconds limit, peer_watch* peer) {
    auto state = std::make_shared<answer_state<R>>();
    answer_wait wait(context_);
    {
      auto slot = std::make_shared<answer_promise<R>>(queue_, state);
      auto run = [slot, work = std::move(work)](engine_services& services) mutable {
        enter(services, work, slot);
      };
      if (!engine_.post(std::move(run))) co_return stopping();
    }
    state->waiter = &wait;
    disconnect_guard<R> guard(*this, state, peer);
    if (peer) peer->arm(wait.timer, wait.peer_disconnected);
    co_await wait.until(std::chrono::steady_clock::now() + limit);
    if (state->value) co_return std::move(*state->value);
    if (!state->failure.ok()) co_return std::move(state->failure);
    if (state->dropped) co_return stopping();
    co_return wait.peer_disconnected ? client_left() : too_slow(limit);
  }

  template <class R, class F>
  coro::task<answer<R>> call(F work) {
    return call<R>(std::move(work), limit_, nullptr);
  }
  /// Adds `time` to the configured limit. Ends early if the client disconnects.
  template <class R, class F>
  coro::task<answer<R>> wait(F work, std::chrono::milliseconds time, peer_watch& peer) {
    return call<R>(std::move(work), time + limit_, &peer);
  }

 private:
  template <class R>
  struct disconnect_guard {
    disconnect_guard(engine_link& l, std::shared_ptr<answer_state<R>> c, peer_watch* p)
        : link(l), state(std::move(c)), peer(p) {}
    disconnect_guard(disconnect_guard const&) = delete;
    ~disconnect_guard() {
      state->waiter = nullptr;
      if (!peer) return;
      peer->disarm();
      if (state->value || state->dropped) return;
      link.engine_.post([state = std::move(state)](engine_services& services) {
        if (state->forget) state->forget(services);
      });
    }
    engine_link& link;
    std::shared_ptr<answer_state<R>> state;
    peer_watch* peer;
  };

  static muster::status stopping() { return {muster::code::unavailable, "the server is stopping"}; }
  static muster::status client_left() {
    return {muster::code::cancelled, "the client closed the connection"};
  }
  static muster::status too_slow(std::chrono::milliseconds limit) {
    return {muster::code::unavailable,
            "the server did not answer within " + std::to_string(limit.count()) + " ms"};
  }

  boost::asio::io_context& context_;
  engine_gateway& engine_;
  std::chrono::milliseconds const limit_;
  std::shared_ptr<completion_queue> queue_;
};

}  // namespace muster::web
