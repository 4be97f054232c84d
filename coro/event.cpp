#include "coro/event.hpp"

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/check.hpp"

namespace muster::coro {

event::~event() {
  check(!waiter_, "an event must not be destroyed while a task waits for it");
}

void event::set() {
  set_ = true;
  wake();
}

task<bool> event::wait() {
  check(!waiter_, "only one task can wait for an event");
  if (!set_) {
    bool const woken = co_await suspend();
    if (!woken) co_return false;
  }
  set_ = false;
  co_return true;
}

task<bool> event::suspend() {
  auto initiate = [this]<class Handler>(Handler&& handler) {
    auto slot = asio::get_associated_cancellation_slot(handler);
    if (slot.is_connected())
      slot.assign([this](asio::cancellation_type) {
        cancelled_ = true;
        wake();
      });
    waiter_ = [slot, h = std::move(handler)](bool woken) mutable {
      if (slot.is_connected()) slot.clear();
      std::move(h)(woken);
    };
  };
  return asio::async_initiate<asio::use_awaitable_t<> const, void(bool)>(initiate,
                                                                         asio::use_awaitable);
}

void event::wake() {
  if (!waiter_ || std::exchange(waking_, true)) return;
  engine_.post([this] {
    waking_ = false;
    auto waiter = std::move(waiter_);
    waiter(!std::exchange(cancelled_, false));
  });
}

}  // namespace muster::coro
