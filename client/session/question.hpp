// A user's request from any thread or coroutine, executed by a coroutine on the engine thread.
// Shared by the caller and the coroutine, so that either can end first.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "client/session/ticket.hpp"
#include "client/session/waiting.hpp"
#include "coro/task.hpp"
#include "muster/detail/value_handle.hpp"

namespace muster::detail {

template <class T>
class question : public std::enable_shared_from_this<question<T>> {
 public:
  using operation = std::function<coro::task<T>(ticket&)>;
  /// Throws if too many coroutines are running.
  using starter = std::function<void(coro::task<void>)>;

  /// If `tickets` is not null, it receives the operation's ticket. `tickets` and the engine must
  /// outlive the operation.
  question(coro::engine_context& e, starter spawn, operation o,
           std::set<ticket*>* tickets = nullptr)
      : engine(e), spawn_(std::move(spawn)), operation_(std::move(o)), tickets_(tickets) {}

  coro::engine_context& engine;

  /// Must be called once, from any thread. Calls `done` on the engine thread when take() no longer
  /// blocks.
  void start(std::function<void()> done) {
    done_ = std::move(done);
    engine.post([self = this->shared_from_this()] {
      try {
        self->spawn_(self->run(self));
      } catch (...) {
        self->answer_.set_exception(std::current_exception());
        self->finish();
      }
    });
  }

  /// Called when the caller has stopped waiting. Thread-safe.
  void cancel() {
    engine.post([self = this->shared_from_this()] {
      if (self->ticket_ != nullptr) self->ticket_->cut_short(ticket::cut::cancelled);
    });
  }

  T take() { return answer_.get_future().get(); }

 private:
  coro::task<void> run(std::shared_ptr<question> /*self*/) {
    {
      ticket t(engine, tickets_);
      ticket_ = &t;
      try {
        auto operating = operation_(t);
        if constexpr (std::is_void_v<T>) {
          co_await std::move(operating);
          answer_.set_value();
        } else {
          answer_.set_value(co_await std::move(operating));
        }
      } catch (...) {
        answer_.set_exception(std::current_exception());
      }
      ticket_ = nullptr;
    }
    finish();
  }

  void finish() {
    auto const done = std::move(done_);
    operation_ = nullptr;
    done();
  }

  starter const spawn_;
  operation operation_;
  std::set<ticket*>* const tickets_;
  std::function<void()> done_;
  ticket* ticket_ = nullptr;  // null unless the operation runs; used only on the engine thread
  std::promise<T> answer_;
};

/// Blocks until the operation has ended. Throws the errors of the operation, and std::logic_error
/// on the engine thread.
template <class T>
T ask(std::shared_ptr<question<T>> const& q) {
  if (q->engine.running_in_this_thread())
    throw std::logic_error(
        "a callback cannot wait, because its thread receives the answers; wait on another thread");
  auto const done = std::make_shared<std::promise<void>>();
  auto const waited = done->get_future();
  q->start([done] { done->set_value(); });
  waited.wait();  // no deadline is needed, because every operation has a deadline
  return q->take();
}

/// Asynchronous version of ask, for coroutines on any executor. Cancellation of any type cancels
/// the operation.
template <class T>
boost::asio::awaitable<T> run_async(std::shared_ptr<question<T>> q) {
  auto enter = [q](std::shared_ptr<waiting> const& w) { q->start([w] { w->resume(true); }); };
  auto waited = waiting::wait(for_ever, enter);
  try {
    co_await std::move(waited);
  } catch (boost::system::system_error const&) {
    q->cancel();
    throw;
  }
  co_return q->take();
}

}  // namespace muster::detail
