#include "coro/task_group.hpp"

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <utility>

#include "base/check.hpp"

namespace muster::coro {

namespace {

bool is_cancellation(std::exception_ptr const& error) {
  try {
    std::rethrow_exception(error);
  } catch (boost::system::system_error const& e) {
    return e.code() == asio::error::operation_aborted;
  } catch (...) {
    return false;
  }
}

}  // namespace

task_group::task_group(asio::any_io_executor executor, std::size_t tasks_max, error_hook on_error)
    : executor_(std::move(executor)), tasks_max_(tasks_max), on_error_(std::move(on_error)) {
  check(on_error_ != nullptr, "a task group needs an error handler");
}

task_group::~task_group() {
  check(live_ == 0, "a task group must not be destroyed before its last task");
}

bool task_group::spawn(std::string name, task<void> body) {
  if (full()) return false;
  ++live_;
  auto const which = children_.emplace(children_.end(), std::move(name));
  auto on_done = [this, which](std::exception_ptr error) { finished(which, std::move(error)); };
  asio::co_spawn(
      executor_, std::move(body),
      asio::bind_cancellation_slot(which->signal.slot(), asio::bind_executor(executor_, on_done)));
  return true;
}

void task_group::cancel(asio::cancellation_type type) {
  ++cancelling_;
  for (child& c : children_) {
    c.cancelled = true;
    c.signal.emit(type);
  }
  if (--cancelling_ == 0) finished_children_.clear();
}

task<void> task_group::wait() {
  while (live_ != 0) co_await last_gone();
}

task<void> task_group::last_gone() {
  check(!waiter_, "only one task can wait for a task group");
  auto initiate = [this]<class Handler>(Handler&& handler) {
    auto slot = asio::get_associated_cancellation_slot(handler);
    if (slot.is_connected()) slot.assign([this](asio::cancellation_type type) { cancel(type); });
    waiter_ = [slot, h = std::move(handler)]() mutable {
      if (slot.is_connected()) slot.clear();
      std::move(h)();
    };
  };
  return asio::async_initiate<asio::use_awaitable_t<> const, void()>(initiate, asio::use_awaitable);
}

void task_group::finished(position which, std::exception_ptr error) {
  // cancel() may be iterating over this element.
  finished_children_.splice(finished_children_.end(), children_, which);
  --live_;
  if (error && !(which->cancelled && is_cancellation(error))) on_error_(which->name, error);
  if (cancelling_ == 0) finished_children_.clear();
  if (live_ == 0 && waiter_) asio::post(executor_, std::move(waiter_));
}

}  // namespace muster::coro
