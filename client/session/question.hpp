// One call of a user, from any thread or coroutine, done by a coroutine on the engine thread.
// Shared by the caller and by the coroutine that does it, so that either may end first.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <variant>

#include "client/session/ticket.hpp"
#include "client/session/waiting.hpp"
#include "coro/task.hpp"
#include "muster/detail/value_handle.hpp"

namespace muster::detail {

/// Where a question is answered. REQUIRES: what it refers to outlives the answer.
struct answering {
  coro::engine_context& engine;
  /// On the engine thread: starts the coroutine. Throws when there are too many.
  std::function<void(coro::task<void>)> spawn;
  std::set<ticket*>* tickets = nullptr;  // null: only the question has its ticket
};

template <class T>
class question : public std::enable_shared_from_this<question<T>> {
 public:
  using operation = std::function<coro::task<T>(ticket&)>;

  question(answering where, operation o) : where_(std::move(where)), operation_(std::move(o)) {}

  /// Any thread, once. `done` is called on the engine thread when take() will not wait.
  void start(std::function<void()> done) {
    done_ = std::move(done);
    where_.engine.post([self = this->shared_from_this()] {
      try {
        self->where_.spawn(self->run(self));
      } catch (...) {
        self->error_ = std::current_exception();
        self->finish();
      }
    });
  }

  /// Any thread: nobody waits for it any more.
  void cancel() {
    where_.engine.post([self = this->shared_from_this()] {
      if (self->ticket_ != nullptr) self->ticket_->cut_short(ticket::cut::cancelled);
    });
  }

  /// REQUIRES: it is done. Once.
  T take() {
    if (error_) std::rethrow_exception(error_);
    if constexpr (!std::is_void_v<T>) return std::move(*answer_);
  }

 private:
  coro::task<void> run(std::shared_ptr<question> /*self*/) {
    {
      ticket t(where_.engine, where_.tickets);
      ticket_ = &t;
      try {
        auto operating = operation_(t);
        if constexpr (std::is_void_v<T>) {
          co_await std::move(operating);
        } else {
          answer_.emplace(co_await std::move(operating));
        }
      } catch (...) {
        error_ = std::current_exception();
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

  answering const where_;
  operation operation_;
  std::function<void()> done_;
  ticket* ticket_ = nullptr;  // while it runs; engine thread
  std::exception_ptr error_;
  std::optional<std::conditional_t<std::is_void_v<T>, std::monostate, T>> answer_;
};

/// Waits on this thread. Errors: those of the operation; std::logic_error on the engine thread.
template <class T>
T ask(answering where, typename question<T>::operation o) {
  if (where.engine.running_in_this_thread())
    throw std::logic_error("the library's own thread does not wait for itself");
  auto const q = std::make_shared<question<T>>(std::move(where), std::move(o));
  auto const done = std::make_shared<std::promise<void>>();
  auto const waited = done->get_future();
  q->start([done] { done->set_value(); });
  waited.wait();  // no deadline here: every operation has its own
  return q->take();
}

/// The same for a coroutine on any executor. Cancellation (any type) cuts the operation short.
template <class T>
boost::asio::awaitable<T> async_ask(answering where, typename question<T>::operation o) {
  auto const q = std::make_shared<question<T>>(std::move(where), std::move(o));
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
