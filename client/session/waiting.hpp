// A coroutine that waits on another executor for an event on the engine thread. Shared by the
// coroutine and the code that resumes it.
#pragma once

#include <atomic>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <memory>
#include <utility>

#include "base/unique_function.hpp"

namespace muster::detail {

class waiting {
 public:
  /// Resumes the coroutine on its own executor; later calls have no effect. Thread-safe; must be
  /// called without locks.
  void resume(bool happened) {
    if (resumed_.exchange(true)) return;
    auto last = std::move(resume_);  // this also destroys the timer and the work guard
    last(happened);
  }

  /// Suspends until resume() is called. `enter` stores the shared object for the code that resumes
  /// it. Returns false after `timeout`. Cancellation of any type throws operation_aborted.
  template <class Enter>
  static boost::asio::awaitable<bool> wait(std::chrono::milliseconds timeout, Enter enter) {
    namespace asio = boost::asio;
    auto initiate = [timeout, enter]<class Handler>(Handler&& handler) mutable {
      auto const self = std::make_shared<waiting>();
      auto slot = asio::get_associated_cancellation_slot(handler);
      auto executor = asio::get_associated_executor(handler);
      auto timer = std::make_shared<asio::steady_timer>(executor, timeout);
      if (slot.is_connected())
        slot.assign([self](asio::cancellation_type) { self->resume(false); });
      auto guard = asio::make_work_guard(executor);
      // The timer belongs to the executor's context, so it is moved into the handler. The guard is
      // kept until post has returned, because a context without work can end.
      self->resume_ = [timer, guard, h = std::move(handler)](bool happened) mutable {
        auto const on = guard.get_executor();
        asio::post(on, [timer = std::move(timer), guard, h = std::move(h), happened]() mutable {
          timer->cancel();
          timer.reset();
          std::move(h)(happened);
        });
      };
      timer->async_wait([self](boost::system::error_code e) {
        if (!e) self->resume(false);
      });
      enter(self);
    };
    bool const happened = co_await asio::async_initiate<asio::use_awaitable_t<> const, void(bool)>(
        initiate, asio::use_awaitable);
    auto const state = co_await asio::this_coro::cancellation_state;
    if (!happened && state.cancelled() != asio::cancellation_type::none)
      throw boost::system::system_error(asio::error::operation_aborted);
    co_return happened;
  }

 private:
  std::atomic<bool> resumed_ = false;
  coro::unique_function<void(bool)> resume_;
};

}  // namespace muster::detail
