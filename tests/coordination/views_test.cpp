#include "tests/coordination/fixture.hpp"

namespace muster::core::coordination {
namespace {

TEST(views, task_with_heartbeats_that_keeps_others_waiting_is_late) {
  scene s({.tasks = 3});
  s.enlist_all();
  s.advance(5s);
  auto const first_came = s.now();
  s.barrier("step_12", 0, {.timeout = 10min});
  s.barrier("step_12", 1, {.timeout = 10min});
  s.advance(59s);
  s.beat_all();
  EXPECT_EQ(s.agent(2).health, agent_health::connected);
  EXPECT_TRUE(s.log_events(log_event_kind::barrier_stuck).empty());
  s.advance(1s);
  auto const late = s.agent(2);
  EXPECT_EQ(late.health, agent_health::late);
  EXPECT_EQ(late.late_for, "step_12");
  EXPECT_EQ(late.late_since, first_came);
  EXPECT_EQ(s.agent(0).health, agent_health::connected);
  EXPECT_EQ(s.agent(0).waiting_for, std::vector<std::string>{"barrier step_12"});
  s.beat_all();
  s.advance(80s);
  s.beat_all();
  s.advance(80s);
  ASSERT_EQ(s.log_events(log_event_kind::barrier_stuck).size(), 1u) << "once";
  EXPECT_EQ(s.log_events(log_event_kind::barrier_stuck)[0].about, "step_12");
  EXPECT_NE(
      s.log_events(log_event_kind::barrier_stuck)[0].text.find("Missing 1: /job:worker/task:2"),
      std::string::npos);
  s.beat_all();
  s.barrier("step_12", 2);
  EXPECT_EQ(s.agent(2).health, agent_health::connected);
}

TEST(views, reader_can_choose_a_shorter_lateness_threshold) {
  scene s({.tasks = 3});
  s.enlist_all();
  s.barrier("step_12", 0, {.timeout = 10min});
  s.advance(2s);
  auto const seen = s.current().views().tasks(s.now(), 0, 3, 2s);
  EXPECT_EQ(seen.at(0).health, agent_health::connected);
  EXPECT_EQ(seen.at(1).late_for, "step_12");
  EXPECT_EQ(seen.at(2).late_for, "step_12");
  EXPECT_EQ(s.agent(2).health, agent_health::connected) << "too early for alarms";
}

TEST(views, barrier_without_waiting_tasks_makes_no_task_late) {
  scene s;
  s.enlist_all();
  s.gone(s.barrier("b", 0, {.timeout = 1h}));
  s.advance(70s);
  s.beat_all();
  EXPECT_EQ(s.agent(1).health, agent_health::connected);
  EXPECT_TRUE(s.log_events(log_event_kind::barrier_stuck).empty());
  s.barrier("b", 0);
  s.advance(59s);
  s.beat_all();
  EXPECT_TRUE(s.log_events(log_event_kind::barrier_stuck).empty());
  s.advance(2s);
  EXPECT_EQ(s.log_events(log_event_kind::barrier_stuck).size(), 1u);
}

TEST(views, pages_of_tasks_may_begin_and_end_anywhere) {
  scene s({.tasks = 5});
  auto const all = std::numeric_limits<std::size_t>::max();
  auto const& service = s.current();
  EXPECT_EQ(service.views().tasks(s.now(), 0, all).size(), 5u);
  EXPECT_EQ(service.views().tasks(s.now(), 3, all).size(), 2u);
  EXPECT_EQ(service.views().tasks(s.now(), 3, 1).at(0).index, 3u);
  EXPECT_EQ(service.views().tasks(s.now(), 5, 1).size(), 0u);
  EXPECT_EQ(service.views().tasks(s.now(), all, all).size(), 0u);
  EXPECT_EQ(service.views().tasks(s.now(), all - 1, 7).size(), 0u);
  EXPECT_EQ(service.views().tasks(s.now(), 2, 0).size(), 0u);
}

TEST(views, count_health_and_parked_calls) {
  scene s({.tasks = 3});
  s.enlist(0), s.enlist(1);
  auto v = s.generation();
  EXPECT_EQ(v.by_health[static_cast<int>(agent_health::registering)], 2u);
  EXPECT_EQ(v.by_health[static_cast<int>(agent_health::missing)], 1u);
  s.enlist(2);
  s.poll(0), s.poll(1), s.get("k"), s.get("k"), s.get("l"), s.watch(s.version());
  s.barrier("b", 0);
  v = s.generation();
  EXPECT_EQ(v.parked_polls, 2u);
  EXPECT_EQ(v.parked_key_waits, 3u);
  EXPECT_EQ(v.parked_watches, 1u);
  EXPECT_EQ(v.parked_calls, 7u);
  EXPECT_EQ(v.barriers_running, 1u);
  EXPECT_EQ(v.by_health[static_cast<int>(agent_health::connected)], 3u);
}

TEST(views, barriers_show_arrived_and_missing_tasks) {
  scene s({.tasks = 3});
  s.enlist_all();
  s.barrier("done", 0), s.barrier("done", 1), s.barrier("done", 2);
  s.barrier("b", 1);
  auto const b = s.current().views().barrier("b");
  ASSERT_TRUE(b);
  EXPECT_EQ(b->state, barrier_state::running);
  EXPECT_EQ(b->first, "/job:worker/task:1");
  ASSERT_EQ(b->arrived.size(), 1u);
  EXPECT_EQ(b->arrived[0].name, "/job:worker/task:1");
  ASSERT_EQ(b->missing.size(), 2u);
  EXPECT_EQ(b->missing[1].peer, "10.0.0.2:4711");
  auto const all = s.current().views().barriers_from(0, 10);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].id, "b");
  EXPECT_EQ(all[1].id, "done");
  EXPECT_EQ(all[1].state, barrier_state::passed);
  EXPECT_EQ(s.current().views().barriers_from(1, 1).at(0).id, "done");
  EXPECT_FALSE(s.current().views().barrier("unknown"));
}

TEST(views, keys_are_listed_by_prefix_and_page) {
  scene s;
  for (auto const* k : {"a/1", "a/2", "a/3", "b"}) s.set(k, k);
  auto const page = s.current().views().keys("a/", "a/1", 1);
  ASSERT_EQ(page.size(), 1u);
  EXPECT_EQ(page[0].key, "a/2");
  EXPECT_EQ(page[0].changed, s.now());
  EXPECT_EQ(s.current().views().keys("", "", 100).size(), 4u);
  EXPECT_EQ(s.current().views().key("/b/")->value.view(), "b");
  EXPECT_FALSE(s.current().views().key("c"));
}

TEST(views, the_waits_of_one_task_are_shown_up_to_eight) {
  scene s;
  s.enlist_all();
  for (int i = 0; i < 20; ++i) s.barrier("b" + std::to_string(i), 0);
  EXPECT_EQ(s.agent(0).waiting_for.size(), 8u);
  EXPECT_TRUE(s.agent(1).waiting_for.empty());
}

}  // namespace
}  // namespace muster::core::coordination
