#include "tests/coordination/fixture.hpp"

namespace muster::core::coordination {
namespace {

TEST(watch, of_an_old_version_returns_at_once) {
  scene s;
  s.enlist_all();
  auto const states = s.states_of(s.watch(-1));
  ASSERT_EQ(states->tasks.size(), 2u);
  EXPECT_EQ(states->tasks[1].task, 1u);
  EXPECT_EQ(states->tasks[1].state, agent_state::connected);
  EXPECT_EQ(states->tasks[1].incarnation, incarnation{101});
  EXPECT_GT(states->version, 0);
  EXPECT_EQ(s.states_of(s.watch(0))->version, states->version);
}

TEST(watch, of_the_current_version_waits_for_a_change) {
  scene s;
  s.enlist_all();
  auto const watch = s.watch(s.version());
  s.advance(10s);
  EXPECT_TRUE(s.parked(watch));
  s.poll(1);
  s.report(0, code::internal, "boom");
  s.advance(5ms);
  auto const states = s.states_of(watch);
  EXPECT_EQ(states->tasks[0].state, agent_state::error);
  ASSERT_TRUE(states->tasks[0].error);
  EXPECT_EQ(states->tasks[0].error->message, "boom");
  EXPECT_EQ(states->tasks[1].error, nullptr);
}

TEST(watch, reports_leaving_and_returning_tasks) {
  scene s({.spec = {.shutdown_timeout = 0s, .recoverable = true}});
  s.enlist_all();
  auto const left = s.watch(s.version());
  s.leave(0);
  s.advance(5ms);
  EXPECT_EQ(s.states_of(left)->tasks[0].state, agent_state::disconnected);
  auto const back = s.watch(s.version());
  s.enlist(1, 777);
  s.advance(5ms);
  EXPECT_EQ(s.states_of(back)->tasks[1].incarnation, incarnation{777});
}

TEST(watch, of_a_future_version_is_refused) {
  scene s;
  EXPECT_EQ(s.code_of(s.watch(1)), code::invalid_argument);
  EXPECT_EQ(s.code_of(s.watch(std::numeric_limits<std::int64_t>::max())), code::invalid_argument);
  EXPECT_EQ(s.code_of(s.watch(std::numeric_limits<std::int64_t>::min())), code::ok);
}

TEST(watch, changes_within_the_interval_are_one_shared_reply) {
  scene s({.tasks = 50, .spec = {.shutdown_timeout = 0s}});
  s.enlist_all();
  auto const version = s.version();
  std::vector<call_id> watches;
  for (int i = 0; i < 20; ++i) watches.push_back(s.watch(version));
  for (task_index t = 0; t < 10; ++t) s.leave(t);
  for (auto const w : watches) EXPECT_TRUE(s.parked(w));
  s.advance(5ms);
  for (auto const w : watches) EXPECT_EQ(s.states_of(w), s.states_of(watches[0])) << "one object";
  EXPECT_EQ(s.states_of(watches[0])->version, version + 10);
}

TEST(watch, repeated_watch_waits_for_the_interval) {
  scene s({.tasks = 5, .spec = {.shutdown_timeout = 0s}});
  s.enlist_all();
  auto const a = s.watch(s.version());
  s.advance(1s);
  s.leave(0);
  s.advance(1ms);
  auto const seen = s.states_of(a)->version;
  s.leave(1);
  auto const again = s.watch(seen);
  EXPECT_TRUE(s.parked(again));
  s.leave(2);
  s.advance(3ms);
  EXPECT_TRUE(s.parked(again)) << "4 ms after the change that was reported at once";
  s.advance(1ms);
  EXPECT_EQ(s.states_of(again)->version, seen + 2);
}

TEST(watch, few_watchers_are_answered_at_once_and_many_after_the_interval) {
  scene s({.tasks = 5, .spec = {.shutdown_timeout = 0s}, .limits = {.few_watchers = 2}});
  s.enlist_all();
  auto version = s.version();
  std::vector<call_id> few{s.watch(version), s.watch(version)};
  s.advance(1s);
  s.leave(0);
  s.advance(0ms);
  for (auto const w : few) EXPECT_EQ(s.states_of(w)->version, version + 1);
  version = s.version();
  std::vector<call_id> many{s.watch(version), s.watch(version), s.watch(version)};
  s.advance(1s);
  s.leave(1);
  s.advance(4ms);
  for (auto const w : many) EXPECT_TRUE(s.parked(w));
  s.advance(1ms);
  for (auto const w : many) EXPECT_EQ(s.states_of(w)->version, version + 1);
}

TEST(watch, of_a_job_shows_that_job) {
  cluster_spec spec;
  spec.jobs = {{"chief", 1, false}, {"worker", 2, false}};
  scene s({.spec = spec});
  s.enlist_all();
  auto const job = [&](std::size_t j) { return s.ask(watch_tasks{{}, j, -1, false}); };
  EXPECT_EQ(s.states_of(job(0))->tasks.size(), 1u);
  auto const workers = s.states_of(job(1));
  ASSERT_EQ(workers->tasks.size(), 2u);
  EXPECT_EQ(workers->tasks[0].task, 1u);
  EXPECT_EQ(s.code_of(job(2)), code::invalid_argument);
}

TEST(watch, ends_empty_when_the_service_stops) {
  scene s;
  s.enlist_all();
  auto const watch = s.watch(s.version());
  s.stop();
  EXPECT_EQ(s.states_of(watch)->version, -1);
  EXPECT_TRUE(s.states_of(watch)->tasks.empty());
  EXPECT_EQ(s.states_of(s.watch(-1))->version, -1);
}

TEST(watch, a_list_of_tasks_must_be_of_the_cluster) {
  scene s;
  EXPECT_EQ(s.code_of(s.ask(get_task_state{{}, s.refs({0, 9})})), code::invalid_argument);
  auto const states = s.states_of(s.ask(get_task_state{{}, s.refs({1, 0, 1})}));
  ASSERT_EQ(states->tasks.size(), 3u);
  EXPECT_EQ(states->tasks[2].task, 1u);
}

}  // namespace
}  // namespace muster::core::coordination
