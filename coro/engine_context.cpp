// The loop runs up to 64 local functions, then handles one queue event. If local functions remain,
// the loop only polls the queue; otherwise it blocks on the queue. The first post from another
// thread wakes the loop with an alarm that is already due, because gRPC does not let other threads
// add events to the queue.
#include "coro/engine_context.hpp"

#include <grpc/support/time.h>
#include <grpcpp/alarm.h>

#include <utility>

#include "base/check.hpp"
#include "coro/rpc_tag.hpp"
#include "coro/timer_queue.hpp"

namespace muster::coro {

namespace {

constexpr std::size_t local_turn_max = 64;
constexpr std::size_t posted_max = 1U << 20;

gpr_timespec past() {
  return gpr_inf_past(GPR_CLOCK_MONOTONIC);
}

}  // namespace

constinit thread_local engine_context const* engine_context::current_ = nullptr;

struct engine_context::wake_up {
  // Wakes the engine. Thread-safe.
  // @pre The queue has returned the previous wake-up.
  void send() { alarm.Set(engine.queue_.get(), past(), static_cast<rpc_tag*>(&arrived)); }

  engine_context& engine;
  member_tag<engine_context, &engine_context::take_posted> arrived{engine};
  grpc::Alarm alarm;
};

class engine_context::thread_scope {
 public:
  explicit thread_scope(engine_context const* engine) {
    check(current_ == nullptr, "only one engine can run on a thread");
    current_ = engine;
  }
  ~thread_scope() { current_ = nullptr; }
  thread_scope(thread_scope const&) = delete;
};

engine_context::engine_context(std::unique_ptr<grpc::CompletionQueue> queue)
    : queue_(std::move(queue)),
      wake_up_(std::make_unique<wake_up>(*this)),
      timers_(std::make_unique<timer_queue>(*this)),
      posted_(posted_max) {
  check(queue_ != nullptr, "an engine needs a completion queue");
}

engine_context::~engine_context() {
  check(!running_in_this_thread(), "an engine must not be destroyed on its own thread");
  check(pending_ops_ == 0, "an engine must not be destroyed while operations are outstanding");
  posted_.close();
  if (!shut_down_) {
    timers_->close();
    shut_queue_down();
  }
  shutdown();
  while (!local_.empty()) {
    function never_run = std::move(local_.front());
    local_.pop_front();
  }
  destroy();
}

void engine_context::run() {
  check(!started_, "an engine can run only once");
  started_ = true;
  thread_scope scope(this);
  run_local();
  while (!nothing_left()) {
    serve_one_event();
    run_local();
  }
  shut_queue_down();
}

void engine_context::close() {
  post([this] {
    closing_.store(true);
    timers_->close();
  });
}

bool engine_context::post(function fn) {
  if (running_in_this_thread()) {
    local_.push_back(std::move(fn));
    return true;
  }
  auto const pushed = posted_.push_wait(std::move(fn));
  if (pushed.wake) {
    wakes_.fetch_add(1, std::memory_order_relaxed);
    wake_up_->send();
  }
  return pushed.accepted;
}

grpc::ServerCompletionQueue& engine_context::server_queue() noexcept {
  auto* server = dynamic_cast<grpc::ServerCompletionQueue*>(queue_.get());
  check(server != nullptr, "the engine of a server must use a server completion queue");
  return *server;
}

void engine_context::op_started() noexcept {
  check(!shut_down_, "an operation must not start after the queue was shut down");
  ++pending_ops_;
}

void engine_context::op_returned() noexcept {
  check(pending_ops_ > 0, "an operation must return only once");
  --pending_ops_;
}

void engine_context::work_finished() noexcept {
  // The loop checks the count before it blocks, so a wake-up is needed only from other threads.
  if (work_.fetch_sub(1) == 1 && closing_.load() && !running_in_this_thread()) post([] {});
}

void engine_context::run_local() {
  for (std::size_t n = 0; n < local_turn_max && !local_.empty(); ++n) {
    function fn = std::move(local_.front());
    local_.pop_front();
    fn();
  }
}

void engine_context::serve_one_event() {
  void* tag = nullptr;
  bool ok = false;
  if (local_.empty()) {
    check(queue_->Next(&tag, &ok), "only the engine can shut down its queue");
  } else {
    auto const got = queue_->AsyncNext(&tag, &ok, past());
    if (got == grpc::CompletionQueue::TIMEOUT) return;
    check(got == grpc::CompletionQueue::GOT_EVENT, "only the engine can shut down its queue");
  }
  static_cast<rpc_tag*>(tag)->complete(ok);
}

bool engine_context::nothing_left() {
  return closing_.load() && local_.empty() && pending_ops_ == 0 && work_.load() == 0 &&
         posted_.close_if_idle();
}

// @pre The queue contains only the engine's own alarms.
void engine_context::shut_queue_down() {
  shut_down_ = true;
  queue_->Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_->Next(&tag, &ok)) static_cast<rpc_tag*>(tag)->complete(ok);
}

void engine_context::take_posted(bool) {
  posted_.drain(arrived_);
  for (auto& fn : arrived_) local_.push_back(std::move(fn));
  arrived_.clear();
}

}  // namespace muster::coro
