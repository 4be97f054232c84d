#include <gtest/gtest.h>

#include <future>
#include <latch>

#include "muster/session.hpp"
#include "tests/support/test_server.hpp"
#include "tests/support/worker_thread.hpp"

namespace muster::test {

// A function with a name to find in the stack.
__attribute__((noinline)) int waits_in_a_function(std::latch& started, std::latch& finish) {
  started.count_down();
  finish.wait();
  asm volatile("" ::: "memory");
  return 5;
}

namespace {

using namespace std::chrono_literals;

struct own_stacks_of_a_worker : testing::Test {
  own_stacks_of_a_worker()
      : worker(options_for(server.address()), [this](muster::worker& w) {
          w.function("slow", [this] { return waits_in_a_function(started, finish); });
        }) {}

  using answer = muster::result<server::task_stack>;
  std::future<answer> ask() {
    auto told = std::make_shared<std::promise<answer>>();
    auto future = told->get_future();
    server.on_engine([told](server::hub& h) {
      h.workers().read_stack("worker:0", [told](answer a) { told->set_value(std::move(a)); });
      return 0;
    });
    return future;
  }

  std::latch started{1}, finish{1};
  test_server server;
  worker_thread worker;
};

TEST_F(own_stacks_of_a_worker, name_the_running_function) {
  session s({.server = server.address()});
  auto result = s.call<int>("slow");
  started.wait();
  auto told = ask();
  ASSERT_EQ(told.wait_for(30s), std::future_status::ready);
  auto const stack = told.get();
  ASSERT_TRUE(stack);
  EXPECT_EQ(stack->state, core::stack_state::native);
  EXPECT_NE(stack->text.find("waits_in_a_function"), std::string::npos) << stack->text;
  EXPECT_EQ(stack->pid, static_cast<std::uint32_t>(::getpid()));
  finish.count_down();
  EXPECT_EQ(result.get(), 5) << "the closure continues";
}

TEST_F(own_stacks_of_a_worker, concurrent_stack_requests_are_limited) {
  ASSERT_TRUE(connected(server));
  std::vector<std::future<answer>> all;
  for (int i = 0; i < 20; ++i) all.push_back(ask());
  int told = 0, busy = 0;
  for (auto& one : all) {
    ASSERT_EQ(one.wait_for(30s), std::future_status::ready);
    auto const stack = one.get();
    ++(stack ? told : busy);
    if (!stack) {
      EXPECT_EQ(stack.error().code, code::resource_exhausted);
    }
  }
  EXPECT_GE(told, 1);
  EXPECT_EQ(told + busy, 20);
  finish.count_down();
  EXPECT_EQ(worker.stop(), 0) << "also while requests are allowed";
}

}  // namespace
}  // namespace muster::test
