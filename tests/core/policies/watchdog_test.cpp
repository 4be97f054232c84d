#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

struct watchdog : testing::Test {
  static config alert() {
    config c;
    c.watchdog = 4s;
    return c;
  }
  std::vector<std::string> said(duration d) {
    std::vector<std::string> all;
    for (auto const end = c.now() + d; c.now() < end;) {
      c.advance(500ms);
      for (auto const& r : c.said())
        if (r.kind == log_event_kind::no_progress) all.push_back(r.text);
      for (auto const s : c.watch().streams()) c.alive(s);
    }
    return all;
  }
  cluster c{alert()};
};

TEST_F(watchdog, lists_running_closures_at_growing_intervals) {
  c.attach();
  auto const job = c.open({"f", "f"});
  EXPECT_TRUE(said(3'500ms).empty());
  EXPECT_EQ(
      said(500ms),
      names({"no closure has finished for 4000 ms: 1 closure is running, 1 is queued; the oldest: "
             "cl_0000000100000000 (f) on worker:0 for 4000 ms"}));
  EXPECT_TRUE(said(7'500ms).empty());
  EXPECT_EQ(said(500ms).size(), 1u);
  EXPECT_TRUE(said(15'500ms).empty());
  EXPECT_EQ(said(500ms).size(), 1u);
  auto const v = c.core.overview(c.now());
  EXPECT_EQ(v.quiet_since, start);
  ASSERT_EQ(v.oldest_running.size(), 1u);
  EXPECT_EQ(v.oldest_running[0].closure, job[0]);
  EXPECT_EQ(v.oldest_running[0].worker, "worker:0");
}

TEST_F(watchdog, any_finished_closure_resets_it) {
  auto const w = c.attach({.slots = 2, .credits = 2});
  auto const job = c.open({"f", "f"});
  EXPECT_EQ(said(4s).size(), 1u);
  c.succeed(w, job[0]);
  EXPECT_EQ(c.core.overview(c.now()).quiet_since, time_point{});
  EXPECT_TRUE(said(3'500ms).empty());
  EXPECT_EQ(said(500ms).size(), 1u);
}

TEST_F(watchdog, closures_waiting_for_a_delay_or_a_gang_do_not_start_it) {
  auto const asking = [this](closure_options o) {
    auto spec = c.specs({"f"}).front();
    spec.extras = std::make_shared<closure_extras>(closure_extras{std::move(o), {}});
    return spec;
  };
  auto const w = c.attach();
  c.open_with({asking({.delay = 1h})});
  c.open_with({asking({.gang = "g"}), asking({.gang = "g"})});
  EXPECT_TRUE(said(20s).empty());
  auto const job = c.open({"f"});
  EXPECT_TRUE(said(3'500ms).empty()) << "the watch begins with a closure that can run";
  EXPECT_EQ(said(500ms).size(), 1u);
  c.succeed(w, job[0]);
  EXPECT_TRUE(said(20s).empty());
}

TEST_F(watchdog, sleeps_when_there_is_nothing_to_do) {
  auto const w = c.attach();
  EXPECT_TRUE(said(20s).empty());
  auto const job = c.open({"f"});
  EXPECT_TRUE(said(3'500ms).empty()) << "the watch begins with the closure";
  c.succeed(w, job[0]);
  EXPECT_TRUE(said(20s).empty());
}

TEST_F(watchdog, delayed_closure_is_not_reported_as_stuck) {
  c.attach();
  auto work = c.specs({"f"});
  auto extras = std::make_shared<closure_extras>();
  extras->options.delay = 20s;
  work[0].extras = extras;
  c.open_with(std::move(work));
  EXPECT_TRUE(said(16s).empty());
}

TEST_F(watchdog, closures_no_connected_worker_can_run_are_reported) {
  c.attach({.functions = {"g"}});
  c.open({"f"});
  EXPECT_EQ(said(4s),
            names({"no closure has finished for 4000 ms: 0 closures are running, 1 is queued"}));
}

TEST_F(watchdog, queue_without_workers_is_not_reported) {
  c.open({"f"});
  EXPECT_TRUE(said(16s).empty());
}

TEST_F(watchdog, names_the_five_oldest) {
  c.attach({.slots = 4, .credits = 4});
  c.attach({.slots = 4, .credits = 4});
  c.open({"f", "f", "f", "f", "f", "f", "f", "f"});
  EXPECT_EQ(said(4s).size(), 1u);
  EXPECT_EQ(c.core.overview(c.now()).oldest_running.size(), 5u);
}

TEST(watchdog_off, is_the_default) {
  cluster c;
  auto const w = c.attach();
  c.open({"f"});
  for (int i = 0; i < 100; ++i) c.advance(5s), c.alive(w);
  EXPECT_EQ(c.core.overview(c.now()).quiet_since, time_point{});
}

}  // namespace
}  // namespace muster::core
