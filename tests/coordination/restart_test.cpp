// Restarts from the stored facts. The fixture checks after every step that they are complete.
#include "tests/coordination/fixture.hpp"

namespace muster::core::coordination {
namespace {

TEST(restart, keys_survive) {
  scene s;
  s.set("a/b", "1");
  s.set("a/c", "2");
  s.erase("a/b");
  s.increment("n", 41);
  s.restart();
  EXPECT_EQ(s.value_of(s.try_get("a/c")), "2");
  EXPECT_EQ(s.code_of(s.try_get("a/b")), code::not_found);
  EXPECT_EQ(s.value_of(s.increment("n", 1)), "42");
}

TEST(restart, cluster_is_restored_with_its_port) {
  scene s;
  s.listens(4'711);
  s.restart();
  EXPECT_EQ(s.all.port(s.id), 4'711);
  s.listens(4'711);
  EXPECT_TRUE(s.log_events(log_event_kind::port_changed).empty());
  s.listens(4'712);
  ASSERT_EQ(s.log_events(log_event_kind::port_changed).size(), 1u);
  EXPECT_EQ(s.log_events(log_event_kind::port_changed)[0].text,
            "the cluster's port changed from 4711 to 4712; agents that use the former port cannot "
            "reach the cluster");
}

TEST(restart, tasks_continue_heartbeats_with_their_incarnations) {
  scene s({.tasks = 2});
  s.speaks_xla = true;
  auto const service = s.incarnation();
  s.enlist_all();
  s.restart();
  EXPECT_EQ(s.incarnation(), service);
  EXPECT_EQ(s.generation().state, generation_state::running);
  EXPECT_EQ(s.generation().number, 1u);
  EXPECT_EQ(s.code_of(s.beat(0)), code::ok);
  EXPECT_EQ(s.code_of(s.beat(1)), code::ok);
}

TEST(restart, tasks_silent_since_the_restart_are_reported_separately) {
  scene s({.tasks = 3});
  s.enlist(0), s.enlist(1);
  EXPECT_EQ(s.generation().unheard, 0u);
  s.enlist(2);
  s.restart();
  auto const told = [&](task_index t) { return s.current().views().tasks(s.now(), t, 1).at(0); };
  EXPECT_EQ(s.generation().unheard, 3u);
  EXPECT_EQ(s.generation().by_health[static_cast<int>(agent_health::connected)], 3u)
      << "agents receive the same answers";
  EXPECT_TRUE(told(0).unheard);
  EXPECT_EQ(told(0).last_heartbeat, time_point{}) << "no status is known";
  s.barrier("b", 1);
  EXPECT_EQ(s.current().views().barrier("b")->missing.at(0).last_heartbeat, time_point{});
  s.beat(0);
  EXPECT_FALSE(told(0).unheard);
  EXPECT_EQ(told(0).last_heartbeat, s.now());
  EXPECT_FALSE(told(1).unheard) << "a call counts as a heartbeat";
  EXPECT_EQ(s.generation().unheard, 1u);
  s.advance(1h);
  EXPECT_EQ(told(2).health, agent_health::error);
  EXPECT_TRUE(told(2).unheard) << "and never was";
  EXPECT_EQ(s.generation().unheard, 0u) << "of the connected ones";
}

TEST(restart, silence_counts_from_the_return) {
  scene s({.tasks = 1, .spec = {.heartbeat_timeout = 10s}});
  s.enlist(0);
  s.stall(1h);
  s.restart();
  s.advance(9s);
  EXPECT_EQ(s.state_of(0), agent_state::connected);
  s.advance(2s);
  EXPECT_EQ(s.state_of(0), agent_state::error);
}

TEST(restart, tasks_waiting_for_others_register_again) {
  scene s({.tasks = 2});
  s.enlist(0);
  s.restart();
  EXPECT_EQ(s.generation().state, generation_state::registering);
  auto const a = s.enlist(0), b = s.enlist(1);
  EXPECT_EQ(s.code_of(a), code::ok);
  EXPECT_EQ(s.code_of(b), code::ok);
  EXPECT_EQ(s.generation().number, 1u);
}

TEST(restart, barriers_continue_counting) {
  scene s({.tasks = 2});
  s.enlist_all();
  for (std::int64_t n = 0; n < 3; ++n) {
    s.barrier("step", 0, {.counter = n});
    EXPECT_EQ(s.code_of(s.barrier("step", 1, {.counter = n})), code::ok);
  }
  s.barrier("step", 0, {.counter = 3});  // asks again after the restart
  s.restart();
  auto const a = s.barrier("step", 0, {.counter = 3});
  EXPECT_TRUE(s.parked(a));
  EXPECT_EQ(s.code_of(s.barrier("step", 1, {.counter = 3})), code::ok);
  EXPECT_EQ(s.code_of(a), code::ok);
}

TEST(restart, a_failed_run_stays_failed_with_its_cause) {
  scene s({.tasks = 2, .spec = {.renew = false}});
  s.enlist_all();
  s.report(1, code::internal, "out of memory");
  auto const before = s.generation();
  s.restart();
  auto const after = s.generation();
  EXPECT_EQ(after.state, generation_state::failed);
  ASSERT_TRUE(after.cause);
  EXPECT_EQ(*after.cause, *before.cause);
  EXPECT_EQ(s.state_of(1), agent_state::error);
}

TEST(restart, new_generation_has_no_state_of_the_previous_one) {
  scene s({.tasks = 1});
  s.enlist(0, 5);
  s.set("old", "1");
  s.leave(0);
  s.enlist(0, 6);
  s.set("new", "2");
  s.restart();
  EXPECT_EQ(s.generation().number, 2u);
  EXPECT_EQ(s.code_of(s.try_get("old")), code::not_found);
  EXPECT_EQ(s.value_of(s.try_get("new")), "2");
  EXPECT_EQ(s.code_of(s.beat(0, 6)), code::ok);
}

TEST(restart, redeclaration_takes_effect_with_the_next_generation) {
  scene s({.tasks = 1});
  s.enlist(0);
  EXPECT_TRUE(s.redeclare({.jobs = {{"worker", 2, false}}}).ok());
  s.restart();
  EXPECT_EQ(s.all.spec(s.id).size(), 1u);
  s.leave(0);
  s.advance(1s);
  EXPECT_EQ(s.all.spec(s.id).size(), 2u);
}

TEST(restart, clean_stop_is_no_failure_for_returning_tasks) {
  scene s({.tasks = 2});
  s.enlist_all();
  s.barrier("step", 0);
  s.stop();
  s.restart();
  EXPECT_EQ(s.generation().state, generation_state::running);
  EXPECT_EQ(s.code_of(s.beat(0)), code::ok);
}

TEST(restart, removed_cluster_stays_removed) {
  scene s;
  auto const other = s.create({.name = "other", .jobs = {{"worker", 1, false}}});
  ASSERT_TRUE(other.has_value());
  auto& fx = s.all.step(s.now(), remove_cluster{"other"});
  ASSERT_EQ(fx.facts.size(), 1u);
  fact_book book;
  book.add(fx.facts);
  EXPECT_TRUE(book.clusters().empty());
}

TEST(restart, no_facts_are_written_without_durability) {
  clusters all({}, 1);
  auto& fx = all.step(start, create_cluster{{.name = "a", .jobs = {{"worker", 1, false}}}});
  EXPECT_TRUE(fx.facts.empty());
  insert_key_value put{.from = {}, .key = "k", .value = blob("v"), .overwrite = true};
  cluster_call call{fx.cluster, std::move(put)};
  EXPECT_TRUE(all.step(start, call).facts.empty());
}

}  // namespace
}  // namespace muster::core::coordination
