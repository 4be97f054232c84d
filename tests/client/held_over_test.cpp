// Functions continue while the connection is broken. The next stream delivers their results if the
// server still wants them.
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <mutex>
#include <semaphore>

#include "muster/session.hpp"
#include "server/core/queries/worker_queries.hpp"
#include "tests/support/hand_worker.hpp"
#include "tests/support/proxy.hpp"
#include "tests/support/test_server.hpp"
#include "tests/support/worker_thread.hpp"

namespace muster::test {
namespace {

using std::chrono::milliseconds;

struct closures_across_resets : testing::Test {
  explicit closures_across_resets(milliseconds grace = milliseconds(5'000))
      : server(options(grace)) {}

  static test_server_options options(milliseconds grace) {
    test_server_options o;
    o.core.reconnect_grace = grace;
    return o;
  }
  std::uint64_t reconnects() {
    return server.on_engine([](server::hub& h) {
      auto const t = h.state().workers().find("worker", 0);
      return t ? t->reconnects : 0;
    });
  }
  bool reconnected(std::uint64_t times = 1) {
    return server.eventually([&](core::coordinator const& c) {
      auto const t = c.workers().find("worker", 0);
      return t && t->reconnects >= times && t->state == core::task_state::connected;
    });
  }
  /// Lets closures run for 2 s. A reconnecting worker may keep a closure for a quarter of its
  /// running time.
  void let_it_run() { std::this_thread::sleep_for(milliseconds(2'000)); }

  test_server server;
  proxy wire{server.address()};
  std::counting_semaphore<> started{0}, proceed{0};
  std::atomic<int> calls = 0, asked_to_stop = 0;
  std::function<void(worker&)> const slow = [this](worker& w) {
    w.function("slow", [this](context& c) {
      ++calls;
      started.release();
      while (!proceed.try_acquire_for(milliseconds(1)))
        if (c.cancelled()) return ++asked_to_stop, 0;
      return static_cast<int>(c.attempt());
    });
  };
};

TEST_F(closures_across_resets, running_closure_survives_a_reset_and_is_answered_afterwards) {
  worker_thread worker(options_for(wire.address()), slow);
  session s({.server = server.address()});
  auto result = s.call<int>("slow");
  started.acquire();
  let_it_run();
  wire.reset();
  ASSERT_TRUE(reconnected());
  proceed.release();
  EXPECT_EQ(result.get(), 1) << "the first attempt";
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(server.violated_invariant(), "");
}

TEST_F(closures_across_resets, result_produced_during_an_outage_is_delivered_later) {
  worker_thread worker(options_for(wire.address()), slow);
  session s({.server = server.address()});
  auto result = s.call<int>("slow");
  started.acquire();
  let_it_run();
  wire.cut();  // loses the answer
  proceed.release();
  std::this_thread::sleep_for(milliseconds(50));
  wire.mend();
  EXPECT_EQ(result.get(), 1);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(reconnects(), 1u);
}

TEST_F(closures_across_resets, many_resets_in_a_row_lose_nothing) {
  auto o = options_for(wire.address());
  o.slots = 2;
  worker_thread worker(o, slow);
  session s({.server = server.address()});
  auto a = s.call<int>("slow");
  auto b = s.call<int>("slow");
  started.acquire();
  started.acquire();
  let_it_run();
  for (std::uint64_t i = 1; i <= 5; ++i) {
    wire.reset();
    ASSERT_TRUE(reconnected(i)) << i;
  }
  proceed.release(2);
  EXPECT_EQ(a.get(), 1);
  EXPECT_EQ(b.get(), 1);
  EXPECT_EQ(calls, 2);
}

TEST_F(closures_across_resets, closure_requeued_during_an_outage_is_asked_to_stop) {
  worker_thread worker(options_for(wire.address()), slow);
  session s({.server = server.address()});
  auto result = s.call<int>("slow");
  started.acquire();
  wire.sever();
  ASSERT_TRUE(
      server.eventually([](core::coordinator const& c) { return c.overview({}).requeued == 1; }));
  EXPECT_EQ(asked_to_stop, 0);
  wire.mend();
  ASSERT_TRUE(server.eventually([&](core::coordinator const&) { return asked_to_stop == 1; }));
  proceed.release();
  EXPECT_EQ(result.get(), 2) << "the second attempt";
}

struct without_grace : closures_across_resets {
  without_grace() : closures_across_resets(milliseconds(0)) {}
};

TEST_F(without_grace, reset_requeues_all_closures) {
  worker_thread worker(options_for(wire.address()), slow);
  session s({.server = server.address()});
  auto result = s.call<int>("slow");
  started.acquire();
  let_it_run();
  wire.reset();
  ASSERT_TRUE(server.eventually([&](core::coordinator const&) { return asked_to_stop == 1; }));
  proceed.release();
  EXPECT_EQ(result.get(), 2);
  EXPECT_EQ(reconnects(), 0u);
}

}  // namespace
}  // namespace muster::test
