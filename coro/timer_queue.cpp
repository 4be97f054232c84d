// Binary heap of timers that store their position, so cancelling is O(log n). Only an earlier
// deadline moves the alarm; cancelled timers and later deadlines are handled when the alarm fires.
// gRPC cannot set an armed alarm again before it has returned the alarm's tag.
#include "coro/timer_queue.hpp"

#include <grpc/support/time.h>

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace muster::coro {

namespace {

constexpr std::size_t fired_per_turn_max = 256;
constexpr auto sleep_max = std::chrono::hours(24);

// gRPC 1.51 rounds up to milliseconds, so only a time in the past is due immediately.
gpr_timespec alarm_time(timer_queue::clock::duration from_now) {
  if (from_now <= timer_queue::clock::duration{}) return gpr_inf_past(GPR_CLOCK_MONOTONIC);
  auto const span = std::clamp<timer_queue::clock::duration>(from_now, {}, sleep_max);
  auto const nanos = std::chrono::duration_cast<std::chrono::nanoseconds>(span).count();
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(nanos, GPR_TIMESPAN));
}

}  // namespace

void timer_queue::close() {
  closed_ = true;
  while (!heap_.empty()) heap_.back()->cancel();
  if (armed_) alarm_.Cancel();
}

void timer_queue::add(timer& t) {
  t.sequence_ = ++sequence_;
  heap_.push_back(&t);
  sift_up(heap_.size() - 1);
  arm();
}

void timer_queue::remove(timer& t) {
  std::size_t const hole = std::exchange(t.position_, timer::idle);
  check(hole < heap_.size() && heap_[hole] == &t,
        "a timer must be at its recorded position in the heap");
  timer* last = heap_.back();
  heap_.pop_back();
  if (last == &t) return;
  place(hole, last);
  sift_up(hole);
  sift_down(last->position_);
}

void timer_queue::complete(bool) {
  armed_ = false;
  rearming_ = false;
  auto const now = clock::now();
  for (std::size_t n = 0; n < fired_per_turn_max; ++n) {
    if (heap_.empty() || heap_.front()->at_ > now) break;
    heap_.front()->fire();
  }
  arm();
}

void timer_queue::arm() {
  if (closed_ || heap_.empty() || rearming_) return;
  auto const earliest = heap_.front()->at_;
  if (armed_) {
    if (earliest >= armed_for_) return;
    rearming_ = true;
    alarm_.Cancel();
    return;
  }
  armed_ = true;
  armed_for_ = earliest;
  ++arms_;
  auto const now = clock::now();
  alarm_.Set(&engine_.queue(), alarm_time(earliest > now ? earliest - now : clock::duration{}),
             static_cast<rpc_tag*>(this));
}

void timer_queue::place(std::size_t position, timer* t) {
  heap_[position] = t;
  t->position_ = position;
}

void timer_queue::sift_up(std::size_t position) {
  timer* moving = heap_[position];
  while (position > 0) {
    std::size_t const parent = (position - 1) / 2;
    if (!earlier(*moving, *heap_[parent])) break;
    place(position, heap_[parent]);
    position = parent;
  }
  place(position, moving);
}

void timer_queue::sift_down(std::size_t position) {
  timer* moving = heap_[position];
  for (;;) {
    std::size_t child = 2 * position + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && earlier(*heap_[child + 1], *heap_[child])) ++child;
    if (!earlier(*heap_[child], *moving)) break;
    place(position, heap_[child]);
    position = child;
  }
  place(position, moving);
}

bool timer_queue::earlier(timer const& a, timer const& b) {
  return a.at_ != b.at_ ? a.at_ < b.at_ : a.sequence_ < b.sequence_;
}

timer::~timer() {
  check(!waiting_, "a timer must not be destroyed while a task waits for it");
  if (pending()) engine_.timers().remove(*this);
}

task<bool> timer::wait_until(clock::time_point at) {
  check(!pending(), "a timer can have only one deadline at a time");
  if (engine_.timers().closed_) co_return false;
  auto initiate = [this, at]<class Handler>(Handler&& handler) {
    auto slot = asio::get_associated_cancellation_slot(handler);
    if (slot.is_connected()) slot.assign([this](asio::cancellation_type) { cancel(); });
    auto resume = [slot, h = std::move(handler)](bool expired) mutable {
      if (slot.is_connected()) slot.clear();
      std::move(h)(expired);
    };
    start(at, std::move(resume), true);
  };
  co_return co_await asio::async_initiate<asio::use_awaitable_t<> const, void(bool)>(
      initiate, asio::use_awaitable);
}

task<bool> timer::wait_for(clock::duration span) {
  auto const now = clock::now();
  return wait_until(span < clock::time_point::max() - now ? now + span : clock::time_point::max());
}

void timer::call_at(clock::time_point at, function fn) {
  check(!waiting_, "a timer must not receive a function while a task waits for it");
  cancel();
  if (engine_.timers().closed_) return;
  auto call = [f = std::move(fn)](bool) mutable { f(); };
  start(at, std::move(call), false);
}

void timer::cancel() {
  if (!pending()) return;
  engine_.timers().remove(*this);
  auto on_end = std::move(on_end_);
  if (!std::exchange(waiting_, false)) return;
  engine_.post([f = std::move(on_end)]() mutable { f(false); });
}

void timer::start(clock::time_point at, unique_function<void(bool)> on_end, bool waiting) {
  at_ = at;
  waiting_ = waiting;
  on_end_ = std::move(on_end);
  engine_.timers().add(*this);
}

// The callback may restart or destroy the timer.
void timer::fire() {
  engine_.timers().remove(*this);
  waiting_ = false;
  auto on_end = std::move(on_end_);
  on_end(true);
}

}  // namespace muster::coro
