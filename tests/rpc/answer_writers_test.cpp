// Each answer of a turn is written exactly once: few answers by the engine's thread alone, many
// with the help of other threads. A stand-in replaces gRPC.
#include "server/rpc/coordination/answer_writers.hpp"

#include <grpcpp/impl/call_op_set.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace muster::server {
namespace {

using namespace std::chrono_literals;
using operations = grpc::internal::CallOpSet<>;

class stand_in final : public grpc::internal::CallHook {
 public:
  /// @param together Blocks the first answer until another thread has delivered one, too.
  stand_in(std::size_t expected, bool together, std::function<void()> done)
      : expected_(expected), together_(together), done_(std::move(done)) {}

  std::map<void*, int> taken;
  std::vector<void*> order;
  std::set<std::thread::id> threads;
  bool waited_in_vain = false;

 private:
  void PerformOpsOnCall(grpc::internal::CallOpSetInterface* o, grpc::internal::Call*) override {
    std::unique_lock lock(mutex_);
    ++taken[o];
    order.push_back(o);
    threads.insert(std::this_thread::get_id());
    second_.notify_all();
    if (together_ && !second_.wait_for(lock, 20s, [this] { return threads.size() > 1; }))
      waited_in_vain = true;
    if (++count_ == expected_) done_();
  }

  std::size_t const expected_;
  bool const together_;
  std::function<void()> const done_;
  std::mutex mutex_;
  std::condition_variable second_;
  std::size_t count_ = 0;
};

void hand_over(std::size_t n, bool together, std::size_t threads_min, std::size_t threads_max,
               std::optional<std::size_t> error_at = {}) {
  coro::engine_context engine(std::make_unique<grpc::CompletionQueue>());
  stand_in taker(n, together, [&] { engine.close(); });
  std::vector<operations> all(n);
  auto const* const error = error_at ? &all[*error_at] : nullptr;
  {
    answer_writers writers(engine, 2);
    engine.post([&] {
      for (auto& o : all) writers.add({nullptr, &taker, nullptr}, o, &o == error);
      EXPECT_TRUE(taker.taken.empty()) << "the turn is not over";
    });
    engine.run();
  }
  EXPECT_FALSE(taker.waited_in_vain);
  EXPECT_EQ(taker.taken.size(), n);
  for (auto const& [o, times] : taker.taken) EXPECT_EQ(times, 1);
  for (std::size_t i = 0; error && i < n; ++i) EXPECT_EQ(taker.order[i], &all[i]);
  EXPECT_GE(taker.threads.size(), threads_min);
  EXPECT_LE(taker.threads.size(), threads_max);
}

TEST(answer_writers, few_answers_are_handed_over_by_the_engine) {
  hand_over(1, false, 1, 1);
  hand_over(31, false, 1, 1);
}

TEST(answer_writers, many_answers_are_handed_over_once_each_by_several_threads) {
  hand_over(32, true, 2, 3);
  hand_over(2'000, true, 2, 3);
}

TEST(answer_writers, turn_with_an_error_is_handed_over_in_order) {
  hand_over(200, false, 1, 1, 0);
  hand_over(200, false, 1, 1, 199);
}

}  // namespace
}  // namespace muster::server
