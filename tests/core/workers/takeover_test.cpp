#include "server/core/workers/task_rows.hpp"
#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

TEST(takeover, new_incarnation_takes_the_task_and_disconnects_the_old_one_for_good) {
  cluster c;
  auto const old = c.attach({.index = 0, .incarnation = 1});
  auto const fresh = c.attach({.index = 0, .incarnation = 2});
  EXPECT_EQ(c.fx().disconnects,
            (std::vector{disconnect{
                old,
                {code::already_exists, "worker:0 was taken over by another process on host"},
                true}}));
  EXPECT_EQ(c.fx().welcomes, (std::vector{welcome{fresh, "worker", 0, 1, 5s, {}, 5s, 0}}));
  EXPECT_EQ(c.task(0).restarts, 1u);
  EXPECT_EQ(c.task(0).state, task_state::connected);
}

TEST(takeover, same_incarnation_replaces_its_dead_stream_and_can_return) {
  cluster c;
  auto const old = c.attach({.incarnation = 1});
  auto const fresh = c.attach({.incarnation = 1});
  EXPECT_EQ(c.fx().disconnects,
            (std::vector{disconnect{old, {code::aborted, "worker:0 attached again"}, false}}));
  EXPECT_EQ(c.fx().welcomes, (std::vector{welcome{fresh, "worker", 0, 1, 5s, {}, 5s, 0}}));
  EXPECT_EQ(c.task(0).restarts, 0u);
}

TEST(takeover, explicit_index_of_a_live_host_is_refused) {
  cluster c;
  auto const first = c.attach({.index = 9, .host = "one"});
  joining const claim{.index = 9, .incarnation = 42, .host = "two"};
  auto second = c.attach(claim);
  EXPECT_EQ(c.fx().disconnects,
            (std::vector{disconnect{
                second,
                {code::unavailable,
                 "worker:9 is connected from host 'one'; this worker waits until the other worker "
                 "stops responding, and exits if worker:9 turns out to be alive"},
                false}}));
  c.advance(1s);
  c.attach(claim);
  ASSERT_EQ(c.fx().disconnects.size(), 1u);
  EXPECT_FALSE(c.fx().disconnects[0].final) << "the first worker has sent nothing since";
  c.alive(first);
  c.advance(1s);
  second = c.attach({.index = 9, .incarnation = 43, .host = "three"});
  EXPECT_FALSE(c.fx().disconnects.at(0).final) << "this is its first claim";
  c.alive(first);
  second = c.attach({.index = 9, .incarnation = 43, .host = "three"});
  EXPECT_FALSE(c.fx().disconnects.at(0).final) << "that sign of life can be older than the claim";
  c.advance(1s);
  c.alive(first);
  second = c.attach({.index = 9, .incarnation = 43, .host = "three"});
  EXPECT_EQ(c.fx().disconnects,
            (std::vector{disconnect{
                second,
                {code::already_exists,
                 "worker:9 is connected from host 'one'; choose another index or none, or take it "
                 "over after 'muster drain worker:9'"},
                true}}));
  EXPECT_TRUE(c.fx().welcomes.empty());
  auto const job = c.open({"f"});
  EXPECT_EQ(c.held(first), closures({job[0]}));
}

TEST(takeover, two_alternating_claims_both_detect_that_the_index_is_in_use) {
  cluster c;
  auto const first = c.attach({.index = 9, .host = "one"});
  joining const second{.index = 9, .incarnation = 42, .host = "two"};
  joining const third{.index = 9, .incarnation = 43, .host = "three"};
  for (auto const& claim : {second, third}) {
    c.attach(claim);
    EXPECT_FALSE(c.fx().disconnects.at(0).final);
    c.advance(1s);
  }
  c.alive(first);
  for (auto const& claim : {second, third}) {
    c.attach(claim);
    EXPECT_TRUE(c.fx().disconnects.at(0).final);
  }
}

TEST(takeover, server_pause_is_not_a_sign_of_life) {
  cluster c;
  c.attach({.index = 9, .host = "one"});
  joining const claim{.index = 9, .incarnation = 42, .host = "two"};
  auto const job = c.open({"g"});
  c.park(join_session{{}, job.id, start + 2s});
  c.advance(1s);
  c.attach(claim);
  c.wait(9s);
  c.tick();  // eight seconds late
  c.attach(claim);
  ASSERT_EQ(c.fx().disconnects.size(), 1u);
  EXPECT_FALSE(c.fx().disconnects[0].final) << "the first worker has sent nothing since";
}

TEST(takeover, an_index_remembers_the_newest_claims_only) {
  cluster c;
  auto const first = c.attach({.index = 9, .host = "one"});
  auto const is_refused = [&](std::uint64_t incarnation) {
    c.attach({.index = 9, .incarnation = incarnation, .host = "two"});
    return c.fx().disconnects.at(0).final;
  };
  for (std::uint64_t i = 0; i <= task_row::claims_max; ++i) EXPECT_FALSE(is_refused(100 + i));
  c.advance(1s);
  c.alive(first);
  EXPECT_TRUE(is_refused(100 + task_row::claims_max));
  EXPECT_FALSE(is_refused(100)) << "one claim too many has replaced it";
}

TEST(takeover, explicit_index_moves_to_another_host_if_the_first_is_late_lost_or_away) {
  for (int how = 0; how < 3; ++how) {
    cluster c;
    joining const one{.index = 9, .host = "one"};
    auto const first = c.attach(one);
    auto const job = c.open({"f"});
    if (how == 0) c.advance(c.core.configuration().late_after());
    if (how == 1) c.lose(first);
    if (how == 2) c.cut(first);
    auto const second = c.attach({.index = 9, .host = "two"});
    EXPECT_EQ(c.fx().welcomes.size(), 1u) << how;
    EXPECT_EQ(c.held(second), closures({job[0]})) << how;
  }
}

TEST(takeover, index_of_a_failed_host_moves_to_the_waiting_worker) {
  cluster c;
  c.attach({.index = 9, .host = "one"});
  auto const job = c.open({"f"});
  joining const claim{.index = 9, .incarnation = 42, .host = "two"};
  duration waited{};
  for (; waited < c.core.configuration().late_after(); waited += 500ms) {
    c.attach(claim);
    ASSERT_EQ(c.fx().disconnects.size(), 1u);
    ASSERT_FALSE(c.fx().disconnects[0].final) << waited.count();
    c.advance(500ms);
  }
  EXPECT_EQ(c.held(c.attach(claim)), job.closures);
}

TEST(takeover, replacement_process_takes_the_task_at_once) {
  for (int how = 0; how < 4; ++how) {
    cluster c;
    c.attach({.incarnation = 1});
    auto const second = c.attach({.incarnation = 2});
    auto const job = c.open({"f", "f"});
    EXPECT_EQ(c.held(second), closures({job[1]}));
    c.advance(4s);
    if (how == 1) c.cut(second);
    if (how == 2) c.lose(second);
    if (how == 3) c.leave(second);
    c.attach({.incarnation = 3, .host = "elsewhere", .replaces = 2});
    ASSERT_EQ(c.fx().welcomes.size(), 1u) << how;
    EXPECT_EQ(c.fx().welcomes[0].index, 1) << how;
    EXPECT_EQ(c.core.workers().tasks_of("worker"), 2u) << how;
    EXPECT_EQ(c.state(job[1]), closure_state::running) << how;
    auto const attempts = c.core.closures().find(job[1])->attempts;
    ASSERT_EQ(attempts.size(), 2u) << how;
    if (how < 2) {
      EXPECT_EQ(attempts[0].outcome.detail,
                "its process has ended, and a new process has connected");
    }
  }
}

TEST(takeover, closures_of_the_old_stream_move_to_the_new_one) {
  cluster c;
  auto const old = c.attach({.index = 0});
  auto const job = c.open({"f", "f"});
  EXPECT_EQ(c.held(old), closures({job[0]}));
  auto const fresh = c.attach({.index = 0});
  EXPECT_EQ(c.fx().assignments, (std::vector{assignment{job[0], 2, c.function("f"), blob("1")}}));
  EXPECT_EQ(c.sent(fresh), closures({job[0]}));
}

TEST(takeover, messages_of_the_old_stream_are_ignored) {
  cluster c;
  auto const old = c.attach({.index = 0});
  auto const job = c.open({"f"});
  auto late = c.good(old, job[0], "late");
  auto const fresh = c.attach({.index = 0});
  EXPECT_EQ(c.answer(old, {late}), effects{});
  EXPECT_EQ(c.alive(old), effects{});
  EXPECT_EQ(c.step(worker_drain{old, true}), effects{});
  EXPECT_EQ(c.lose(old), effects{});
  EXPECT_EQ(c.held(fresh), closures({job[0]}));
  EXPECT_EQ(c.state(job[0]), closure_state::running);
}

TEST(takeover, the_functions_of_the_old_stream_are_no_longer_offered) {
  cluster c;
  c.attach({.functions = {"old", "both"}, .index = 0});
  c.attach({.functions = {"both", "new"}, .index = 0});
  names offered;
  for (auto const& f : c.core.functions().all())
    if (f.workers == 1) offered.push_back(f.name);
  EXPECT_EQ(offered, (names{"both", "new"}));
}

}  // namespace
}  // namespace muster::core
