// Tags of completion-queue events, and the awaitable for one gRPC operation. Used only on the
// engine thread.
#pragma once

#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/recycling_allocator.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <type_traits>
#include <utility>

#include "base/check.hpp"
#include "coro/engine_context.hpp"
#include "coro/task.hpp"

namespace muster::coro {

struct rpc_tag {
  virtual void complete(bool ok) = 0;

 protected:
  ~rpc_tag() = default;
};

template <class Owner, void (Owner::*completed)(bool ok)>
struct member_tag final : rpc_tag {
  explicit member_tag(Owner& o) : owner(o) {}
  void complete(bool ok) override { (owner.*completed)(ok); }
  Owner& owner;
};

// An operation that has been started. On completion, it frees itself, then resumes its handler with
// gRPC's `ok`.
template <class Handler>
class rpc_operation final : public rpc_tag {
 public:
  static rpc_operation* make(engine_context& engine, bool& busy, Handler&& handler) {
    auto allocator = allocator_for(handler);
    auto* memory = std::allocator_traits<decltype(allocator)>::allocate(allocator, 1);
    return ::new (memory) rpc_operation(engine, busy, std::move(handler));
  }

  void complete(bool ok) override {
    Handler handler(std::move(handler_));
    engine_.op_returned();
    busy_ = false;
    auto allocator = allocator_for(handler);
    std::destroy_at(this);
    std::allocator_traits<decltype(allocator)>::deallocate(allocator, this, 1);

    auto slot = asio::get_associated_cancellation_slot(handler);
    if (slot.is_connected()) slot.clear();
    std::move(handler)(ok);
  }

 private:
  rpc_operation(engine_context& engine, bool& busy, Handler&& handler)
      : engine_(engine), busy_(busy), handler_(std::move(handler)) {}

  static auto allocator_for(Handler const& handler) {
    auto any = asio::get_associated_allocator(handler, asio::recycling_allocator<void>());
    return typename std::allocator_traits<decltype(any)>::template rebind_alloc<rpc_operation>(any);
  }

  engine_context& engine_;
  bool& busy_;
  Handler handler_;
};

// Awaits one gRPC operation and completes with gRPC's `ok`. Cancelling with `terminal` calls
// context->TryCancel(), which ends the whole call. The task still completes only when gRPC returns
// the tag.
// @param start called as `start(void* tag)` when the task is awaited; must start exactly one
//   operation with this tag, and may capture only trivially destructible values
// @param busy true while the operation is outstanding
// @pre The task is awaited on the engine thread. `busy`, `context` and everything that `start`
// points to outlive the task.
template <class Context, class Start>
[[nodiscard]] task<bool> await_rpc(engine_context& engine, bool& busy, Context* context,
                                   Start start) {
  static_assert(std::is_trivially_destructible_v<Start>);
  auto initiate = [&engine, &busy, context, start]<class Handler>(Handler&& handler) {
    check(!busy, "a call can have only one outstanding operation of each kind");
    check(engine.running_in_this_thread(), "a call must be used on the thread of its engine");
    auto slot = asio::get_associated_cancellation_slot(handler);
    if (slot.is_connected())
      slot.assign([context](asio::cancellation_type type) {
        if ((type & asio::cancellation_type::terminal) != asio::cancellation_type::none)
          context->TryCancel();
      });
    busy = true;
    engine.op_started();
    rpc_tag* tag = rpc_operation<std::decay_t<Handler>>::make(engine, busy, std::move(handler));
    start(static_cast<void*>(tag));
  };
  return asio::async_initiate<asio::use_awaitable_t<> const, void(bool)>(initiate,
                                                                         asio::use_awaitable);
}

}  // namespace muster::coro
