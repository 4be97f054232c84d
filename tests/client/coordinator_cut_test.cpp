// Broken connections of a cluster_coordinator: all scheduled calls finish, values on workers are
// kept, and nothing is reported twice.
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>

#include "muster/cluster_coordinator.hpp"
#include "muster/function_error.hpp"
#include "server/core/queries/session_queries.hpp"
#include "server/core/queries/value_queries.hpp"
#include "tests/support/proxy.hpp"
#include "tests/support/test_server.hpp"
#include "tests/support/worker_thread.hpp"

namespace muster::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct coordinator_cut : testing::Test {
  test_server server;
  proxy wire{server.address()};
  std::atomic<int> built = 0;
  std::atomic<int> met = 0;
  std::atomic<int> holding = 0;
  gate hold;
  std::optional<worker_thread> workers;  // their connection is not cut
  std::optional<cluster_coordinator> c;

  coordinator_cut() {
    auto w = options_for(server.address());
    w.slots = 4;
    workers.emplace(w, [this](worker& to) {
      to.function("square", [](int n) { return n * n; });
      to.function("add", [](int a, int b) { return a + b; });
      to.function("fail", [](std::string const& why) -> int { throw function_error(why); });
      to.function("counter", [this] { return ++built, std::make_shared<std::atomic<int>>(0); });
      to.function("count", [](std::shared_ptr<std::atomic<int>> at) { return ++*at; });
      to.function("meet", [this](context& at, int of) {
        ++met;
        while (met < of && !at.cancelled()) std::this_thread::sleep_for(milliseconds(1));
        return of;
      });
      to.function("hold_with", [](context& at, std::string const&) {
        while (!at.cancelled()) std::this_thread::sleep_for(milliseconds(1));
        return 1;
      });
      to.function("stopped", [this](context& at) -> int {
        ++holding;
        while (!at.cancelled()) std::this_thread::sleep_for(milliseconds(1));
        throw function_error("stopped");
      });
      to.function("hold", [this](context& at) {
        ++holding;
        hold.pass(&at);
        return 1;
      });
    });
    coordinator_options o;
    o.server = wire.address();
    c.emplace(o);
    c->wait_open();
  }
  ~coordinator_cut() override { hold.open(); }

  bool suspended() {
    return server.eventually([](auto& core) {
      return !core.sessions().list({}, 1).items.empty() &&
             !core.sessions().list({}, 1).items[0].attached;
    });
  }
};

TEST_F(coordinator_cut, calls_scheduled_before_and_after_resets_are_all_fetched) {
  std::vector<remote_value<int>> all;
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 200; ++i) all.push_back(c->schedule<int>("square", round * 200 + i));
    wire.reset();
    for (int i = 0; i < 10; ++i) all.push_back(c->schedule<int>("add", all[all.size() - 10], 0));
  }
  ASSERT_TRUE(c->join(seconds(60)));
  for (int round = 0; round < 10; ++round)
    for (int i = 0; i < 200; ++i) {
      auto const n = round * 200 + i;
      EXPECT_EQ(all[static_cast<std::size_t>(round * 210 + i)].fetch(seconds(60)), n * n);
    }
}

TEST_F(coordinator_cut, running_calls_continue_and_report_after_reconnecting) {
  auto const held = c->schedule<int>("hold");
  while (holding == 0) std::this_thread::yield();
  wire.sever();
  ASSERT_TRUE(suspended());
  hold.open();
  ASSERT_TRUE(server.eventually(
      [](auto& core) { return core.sessions().list({}, 1).items[0].counts.succeeded == 1; }));
  EXPECT_EQ(held.status(), value_status::not_ready);
  wire.mend();
  EXPECT_EQ(held.fetch(seconds(60)), 1);
  EXPECT_EQ(holding, 1) << "the call ran once";
}

TEST_F(coordinator_cut, resent_submitted_calls_still_keep_their_own_errors) {
  wire.sever();
  ASSERT_TRUE(suspended());
  auto const failed = c->submit<int>("fail", "while away");
  auto const scheduled = c->schedule<int>("square", 2);
  auto const submitted = c->submit<int>("square", 3);
  wire.mend();
  EXPECT_THROW(failed.fetch(seconds(60)), closure_error);
  EXPECT_EQ(scheduled.fetch(seconds(60)), 4);
  EXPECT_EQ(submitted.fetch(seconds(60)), 9);
  EXPECT_TRUE(c->join(seconds(60)));
}

TEST_F(coordinator_cut, call_cancelled_during_an_outage_is_cancelled_on_reconnect) {
  auto const before = c->submit<int>("stopped");
  while (holding == 0) std::this_thread::yield();
  wire.sever();
  ASSERT_TRUE(suspended());
  auto const meanwhile = c->submit<int>("stopped");
  before.cancel();
  meanwhile.cancel();
  wire.mend();
  EXPECT_THROW(before.fetch(seconds(60)), cancelled_error);
  EXPECT_THROW(meanwhile.fetch(seconds(60)), cancelled_error);
}

TEST_F(coordinator_cut, error_during_an_outage_is_raised_once) {
  wire.sever();
  ASSERT_TRUE(suspended());
  c->schedule<int>("fail", "while away");
  c->schedule<int>("square", 2);
  wire.mend();
  EXPECT_THROW(c->join(seconds(60)), closure_error);
  EXPECT_TRUE(c->join(seconds(60)));
  EXPECT_EQ(c->schedule<int>("square", 3).fetch(seconds(60)), 9);
}

TEST_F(coordinator_cut, per_worker_values_survive_an_outage_unless_dropped) {
  auto const kept = c->create_per_worker_value("counter");
  auto dropped = c->create_per_worker_value("counter");
  EXPECT_EQ(c->schedule<int>("count", kept).fetch(seconds(60)), 1);
  EXPECT_EQ(c->schedule<int>("count", dropped).fetch(seconds(60)), 1);
  wire.sever();
  ASSERT_TRUE(suspended());
  dropped.release();
  auto const late = c->schedule<int>("count", kept);
  wire.mend();
  EXPECT_EQ(late.fetch(seconds(60)), 2);
  EXPECT_EQ(built, 2) << "nothing was built again";
  EXPECT_TRUE(server.eventually(
      [](auto& core) { return core.per_worker().list({}, 10).items.size() == 1; }));
}

TEST_F(coordinator_cut, per_worker_value_requested_offline_is_created_on_reconnect) {
  wire.sever();
  ASSERT_TRUE(suspended());
  std::thread mender([this] { wire.mend(); });
  auto const v = c->create_per_worker_value("counter");
  mender.join();
  EXPECT_EQ(c->schedule<int>("count", v).fetch(seconds(60)), 1);
}

TEST_F(coordinator_cut, gang_scheduled_during_an_outage_starts_together) {
  wire.sever();
  ASSERT_TRUE(suspended());
  auto const before = c->schedule<int>("square", 2);
  std::vector<std::tuple<int>> const members(4, 4);
  auto const gang = c->schedule_gang<int>("meet", members);
  wire.mend();
  EXPECT_EQ(c->fetch(gang, seconds(60)), std::vector(4, 4));
  EXPECT_EQ(before.fetch(seconds(60)), 4);
}

// The gang of five cannot start on four slots. Split into two messages, it would be two gangs that
// can.
TEST_F(coordinator_cut, resent_gang_with_large_arguments_remains_one_gang) {
  std::vector<std::tuple<std::string>> const members(5, std::string(100'000, 'x'));
  auto const waits = [this](std::uint64_t closures) {
    EXPECT_EQ(c->schedule<int>("square", 2).fetch(seconds(60)), 4) << "earlier calls have arrived";
    auto const counts =
        server.on_engine([](server::hub& h) { return h.state().overview(h.now()).closures; });
    EXPECT_EQ(counts.queued, closures);
    EXPECT_EQ(counts.running, 0u);
  };
  auto const first = c->schedule_gang<int>("hold_with", members);
  waits(5);
  wire.sever();
  ASSERT_TRUE(suspended());
  auto const second = c->schedule_gang<int>("hold_with", members);
  wire.mend();
  waits(10);
}

}  // namespace
}  // namespace muster::test
