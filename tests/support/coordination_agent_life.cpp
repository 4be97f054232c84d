#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/coordination_agent.hpp"

namespace muster::test {
namespace {

namespace x = xla::coordination;
namespace t = tensorflow;
using std::chrono::milliseconds;

std::uint64_t next_incarnation() {
  static std::atomic<std::uint64_t> last = 0x1000;
  return ++last;
}

}  // namespace

answer pending::get() {
  std::unique_lock lock(shared_->mutex);
  if (shared_->changed.wait_for(lock, std::chrono::seconds(20), [&] { return !!shared_->result; }))
    return *shared_->result;
  ADD_FAILURE() << "a call has no answer after 20 s";
  answer none;
  none.code = grpc::StatusCode::UNKNOWN;
  return none;
}

bool pending::done() {
  std::lock_guard const lock(shared_->mutex);
  return shared_->result.has_value();
}

bool pending::parked_for(milliseconds span) {
  std::unique_lock lock(shared_->mutex);
  return !shared_->changed.wait_for(lock, span, [&] { return !!shared_->result; });
}

call_runner::call_runner()
    : thread_([this] {
        void* got = nullptr;
        bool ok = false;
        while (queue_.Next(&got, &ok)) {
          auto const call = std::unique_ptr<call_runner::tag>(static_cast<call_runner::tag*>(got));
          call->complete();
        }
      }) {}

call_runner::~call_runner() {
  queue_.Shutdown();
  thread_.join();
}

coordination_agent::coordination_agent(call_runner& runner, std::shared_ptr<grpc::Channel> channel,
                                       agent_options o)
    : runner_(runner),
      options_(std::move(o)),
      incarnation_(options_.incarnation != 0 ? options_.incarnation : next_incarnation()),
      x_(x::CoordinationService::NewStub(channel)),
      t_(t::CoordinationService::NewStub(channel)) {}

coordination_agent::~coordination_agent() {
  stop_heartbeats();
  cancel_all();
}

void coordination_agent::cancel_all() {
  std::vector<pending> calls;
  {
    std::lock_guard const lock(mutex_);
    calls.swap(calls_);
  }
  for (auto& c : calls) c.cancel();
}

answer coordination_agent::connected(answer a) {
  if (a.ok()) service_ = a.incarnation;
  return a;
}

answer coordination_agent::connect(milliseconds limit) {
  auto const until = std::chrono::steady_clock::now() + limit;
  auto pause = milliseconds(1);
  for (;;) {
    auto const left =
        std::chrono::duration_cast<milliseconds>(until - std::chrono::steady_clock::now());
    auto const a = connected(register_task(std::max(left, milliseconds(1))).get());
    bool const goes_away = !a.coordination || a.code == grpc::StatusCode::ABORTED ||
                           a.code == grpc::StatusCode::INTERNAL;
    if (a.ok() || !goes_away || left <= pause) return a;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, milliseconds(200));
  }
}

answer coordination_agent::wait_at(std::string const& id, milliseconds timeout,
                                   std::vector<int> const& tasks) {
  auto const known = counters_.find(id);
  auto const a =
      barrier(id, timeout, tasks, known == counters_.end() ? 0 : known->second + 1).get();
  if (a.ok()) counters_[id] = a.counter;
  if (a.barrier_counter) counters_[id] = *a.barrier_counter;
  return a;
}

void coordination_agent::beat_every(milliseconds period) {
  beating_ = true;
  heart_ = std::thread([this, period] {
    std::unique_lock lock(mutex_);
    while (beating_) {
      lock.unlock();
      heartbeat();
      lock.lock();
      stop_beating_.wait_for(lock, period, [this] { return !beating_; });
    }
  });
}

void coordination_agent::stop_heartbeats() {
  if (!heart_.joinable()) return;
  {
    std::lock_guard const lock(mutex_);
    beating_ = false;
    stop_beating_.notify_all();
  }
  heart_.join();
}

void coordination_agent::restart() {
  stop_heartbeats();
  cancel_all();
  incarnation_ = next_incarnation();
  service_ = 0;
  counters_.clear();
}

std::shared_ptr<grpc::Channel> connection_to(std::string const& address,
                                             std::string const& authority) {
  grpc::ChannelArguments arguments;
  static std::atomic<int> number = 0;
  arguments.SetInt("muster.test.connection", ++number);  // prevents gRPC from sharing connections
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(-1);
  if (!authority.empty()) arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, authority);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace muster::test
