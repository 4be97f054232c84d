// The fixture checks after every step that the changes are complete.
#include "tests/coordination/fixture.hpp"

namespace muster::core::coordination {
namespace {

std::vector<failed_why> failures(scene const& s, task_index t) {
  std::vector<failed_why> all;
  for (auto const& c : s.changed<task_failed>())
    if (c.task == t) all.push_back(c.why);
  return all;
}

TEST(changes, a_registration_waits_and_is_over_for_all_at_once) {
  scene s;
  s.enlist(0);
  EXPECT_EQ(s.changed<task_waits>().at(0).as, core::incarnation{100});
  EXPECT_TRUE(s.changed<task_registered>().empty());
  EXPECT_EQ(s.changed<generation_changed>().at(0).why, generation_why::first_registration);
  s.enlist(1);
  EXPECT_EQ(s.changed<task_registered>().size(), 2u);
  EXPECT_EQ(s.changed<task_addressed>().size(), 2u);
  auto const begun = s.changed<barrier_begun>();
  ASSERT_EQ(begun.size(), 1u);
  EXPECT_EQ(begun[0].purpose, barrier_purpose::registration);
  auto const ended = s.changed<barrier_ended>();
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].how, barrier_outcome::passed);
  EXPECT_EQ(ended[0].arrived, 2u);
}

TEST(changes, heartbeat_reports_a_change_only_for_a_new_address) {
  scene s;
  s.enlist_all();
  s.forget_changes();
  s.beat_all();
  EXPECT_TRUE(s.changed<task_registered>().empty() && s.changed<task_addressed>().empty());
  s.peer_of_caller = "10.0.0.9:1";
  s.beat(1);
  ASSERT_EQ(s.changed<task_addressed>().size(), 1u);
  EXPECT_EQ(s.changed<task_addressed>()[0].peer, "10.0.0.9:1");
}

TEST(changes, a_task_that_reports_an_error_breaks_its_barrier_and_the_generation) {
  scene s;
  s.enlist_all();
  s.poll(1);
  s.barrier("b", 1);
  s.forget_changes();
  s.report(0, code::internal, "boom");
  EXPECT_EQ(failures(s, 0), (std::vector{failed_why::reported}));
  EXPECT_EQ(s.changed<cause_found>().at(0).task, 0u);
  EXPECT_EQ(s.changed<error_delivered>().at(0).told->message, "boom");
  EXPECT_EQ(s.changed<generation_changed>().at(0).why, generation_why::task_failed);
  auto const ended = s.changed<barrier_ended>();
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].how, barrier_outcome::task_failed);
  EXPECT_EQ(ended[0].by, 0u);
}

TEST(changes, silence_fails_the_task_and_then_all_without_polls) {
  scene s;
  s.enlist_all();
  s.advance(99s);
  s.beat(1);
  s.forget_changes();
  s.advance(2s);
  EXPECT_EQ(failures(s, 0), (std::vector{failed_why::silent}));
  EXPECT_EQ(failures(s, 1), (std::vector{failed_why::generation_failed}));
  EXPECT_TRUE(s.changed<task_failed>().back().casualty);
}

TEST(changes, shutdown_and_reset_are_reported_with_their_reason) {
  scene s({.tasks = 3});
  s.enlist_all();
  s.forget_changes();
  s.reset(2);
  EXPECT_EQ(s.changed<task_left>().at(0).why, left_why::reset);
  s.enlist(2, 300);
  s.leave(0), s.leave(1), s.leave(2);
  EXPECT_EQ(s.changed<task_left>().back().why, left_why::shut_down);
  EXPECT_EQ(s.changed<generation_changed>().back().why, generation_why::all_left);
}

TEST(changes, barrier_ends_are_reported_with_their_reason) {
  scene s;
  s.enlist_all();
  s.forget_changes();
  s.barrier("late", 0, {.timeout = 1s});
  s.advance(1s);
  s.barrier("cancelled", 0);
  s.cancel("cancelled");
  s.barrier("miscounted", 0);
  s.barrier("miscounted", 1, {.counter = 7});
  s.barrier("others", 0);
  s.barrier("others", 1, {.who = {1}});
  s.barrier("unknown", 0, {.who = {0, 9}});
  s.stop();
  std::vector<barrier_outcome> how;
  for (auto const& e : s.changed<barrier_ended>()) how.push_back(e.how);
  EXPECT_EQ(how, (std::vector{barrier_outcome::timed_out, barrier_outcome::cancelled,
                              barrier_outcome::miscounted, barrier_outcome::other_participants,
                              barrier_outcome::unknown_participant}));
}

TEST(changes, replaced_or_disconnected_call_is_reported_with_its_barrier) {
  scene s;
  s.enlist_all();
  s.forget_changes();
  auto const call = s.barrier("b", 0);
  s.barrier("b", 0);
  EXPECT_FALSE(s.parked(call));
  s.gone(s.barrier("c", 0));
  std::vector<barrier_move> how;
  for (auto const& m : s.changed<barrier_moved>()) how.push_back(m.how);
  EXPECT_EQ(how, (std::vector{barrier_move::came, barrier_move::superseded, barrier_move::came,
                              barrier_move::came, barrier_move::withdrawn}));
}

TEST(changes, key_changes_are_reported_as_set_counted_or_deleted) {
  scene s;
  s.forget_changes();
  s.set("a/b", "1");
  s.increment("a/b", 2);
  s.set("a/b", "x");  // refused: the key exists
  s.erase("a");
  auto const keys = s.changed<key_changed>();
  ASSERT_EQ(keys.size(), 3u);
  EXPECT_EQ(keys[0].why, key_why::set);
  EXPECT_EQ(keys[1].why, key_why::incremented);
  EXPECT_EQ(keys[1].is.value->view(), "3");
  EXPECT_EQ(keys[2].why, key_why::deleted);
  EXPECT_EQ(keys[2].is, (key_fact{"a/b", {}, {}}));
}

// The end is reported before the start, in one step.
TEST(changes, a_generation_ends_and_the_next_begins) {
  scene s({.tasks = 1});
  s.enlist(0);
  s.set("k", "v");
  s.report(0, code::internal, "boom");
  s.forget_changes();
  s.enlist(0, 200);
  auto const begun = s.changed<generation_begun>();
  ASSERT_EQ(begun.size(), 1u);
  EXPECT_EQ(begun[0].number, 2u);
  EXPECT_EQ(begun[0].why, begun_why::renewed);
  EXPECT_FALSE(begun[0].keeps_keys);
}

TEST(changes, a_redeclared_cluster_keeps_its_keys) {
  scene s;
  s.set("k", "v");
  s.forget_changes();
  auto spec = s.all.spec(s.id);
  spec.jobs[0].tasks = 3;
  EXPECT_TRUE(s.redeclare(spec).ok());
  EXPECT_EQ(s.changed<cluster_declared>().at(0).why, declared_why::redeclared);
  EXPECT_EQ(s.changed<cluster_declared>().at(1).why, declared_why::in_force);
  EXPECT_TRUE(s.changed<generation_begun>().at(0).keeps_keys);
}

TEST(changes, wait_for_a_notice_is_reported_until_it_ends) {
  scene s;
  s.enlist_all();
  s.forget_changes();
  auto const wait =
      s.ask(get_key_value{{}, "RECEIVED_PREEMPTION_NOTICE", true, core::incarnation{100}, {}});
  s.gone(wait);
  s.beat(0);
  std::vector<notice_state> to;
  for (auto const& c : s.changed<notice_changed>()) to.push_back(c.to);
  EXPECT_EQ(to, (std::vector{notice_state::listens, notice_state::lost, notice_state::deaf}));
}

}  // namespace
}  // namespace muster::core::coordination
