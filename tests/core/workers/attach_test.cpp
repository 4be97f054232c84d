#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

std::int64_t welcomed_as(cluster const& c) {
  return c.fx().welcomes.size() == 1 ? c.fx().welcomes[0].index : -1;
}
std::int64_t index_of(cluster& c, joining const& w) {
  c.attach(w);
  return welcomed_as(c);
}

TEST(attach, worker_receives_its_name_credits_and_heartbeat_interval) {
  cluster c;
  auto const w = c.attach({.credits = 7, .index = 3, .job = "trainer"});
  EXPECT_EQ(c.fx().welcomes, (std::vector{welcome{w, "trainer", 3, 7, 5s, {}, 5s, 6}}));
  EXPECT_TRUE(c.fx().disconnects.empty());
}

TEST(attach, workers_without_an_index_get_the_lowest_free_one) {
  cluster c;
  EXPECT_EQ(index_of(c, {}), 0);
  EXPECT_EQ(index_of(c, {.index = 1}), 1);
  EXPECT_EQ(index_of(c, {.index = 3}), 3);
  EXPECT_EQ(index_of(c, {}), 2);
  EXPECT_EQ(index_of(c, {}), 4);
}

TEST(attach, each_job_counts_its_own_indexes) {
  cluster c;
  EXPECT_EQ(index_of(c, {.job = "chief"}), 0);
  EXPECT_EQ(index_of(c, {.job = "worker"}), 0);
  EXPECT_EQ(index_of(c, {.job = "worker"}), 1);
  EXPECT_EQ(index_of(c, {.job = "chief"}), 1);
}

TEST(attach, a_lost_worker_keeps_its_row_and_the_next_gets_another) {
  cluster c;
  auto const w = c.attach();
  c.attach();
  c.lose(w);
  EXPECT_EQ(index_of(c, {}), 2);
  EXPECT_EQ(c.state("worker", 0), task_state::error);
}

TEST(attach, row_of_a_worker_that_left_cleanly_is_reused) {
  cluster c;
  auto const w = c.attach();
  c.attach();
  c.leave(w);
  EXPECT_EQ(c.state("worker", 0), task_state::disconnected);
  EXPECT_EQ(index_of(c, {}), 0);
  EXPECT_EQ(index_of(c, {}), 2);
}

TEST(attach, the_lowest_of_several_free_rows_is_given_first) {
  cluster c;
  std::vector<stream_id> w;
  for (int i = 0; i < 5; ++i) w.push_back(c.attach());
  c.leave(w[3]);
  c.leave(w[1]);
  EXPECT_EQ(index_of(c, {}), 1);
  EXPECT_EQ(index_of(c, {}), 3);
  EXPECT_EQ(index_of(c, {}), 5);
}

TEST(attach, the_index_of_a_forgotten_row_is_free_again) {
  cluster c;
  auto const w = c.attach();
  c.lose(w);
  c.advance(c.core.configuration().task_retention);
  EXPECT_FALSE(c.core.workers().find("worker", 0));
  EXPECT_EQ(index_of(c, {}), 0);
}

TEST(attach, index_of_a_removed_row_below_live_rows_is_free_again) {
  cluster c;
  auto const w = c.attach();
  c.lose(w);
  auto const stays = c.attach();
  for (int i = 0; i < 120; ++i) c.advance(5s), c.alive(stays);
  ASSERT_FALSE(c.core.workers().find("worker", 0));
  EXPECT_EQ(index_of(c, {}), 0);
  EXPECT_EQ(index_of(c, {}), 2);
}

TEST(attach, returning_worker_gets_its_own_row) {
  cluster c;
  c.attach();
  auto const w = c.attach({.incarnation = 42});
  c.attach();
  c.lose(w);
  EXPECT_EQ(index_of(c, {.incarnation = 42}), 1);
  EXPECT_EQ(c.task(1).restarts, 0u);
  EXPECT_EQ(c.task(1).error, "");
}

TEST(attach, worker_returning_under_another_job_gets_a_row_there) {
  cluster c;
  auto const w = c.attach({.incarnation = 42, .job = "a"});
  c.lose(w);
  c.attach({.job = "b"});
  EXPECT_EQ(index_of(c, {.incarnation = 42, .job = "b"}), 1);
}

TEST(attach, an_explicit_index_takes_the_row_of_a_dead_worker) {
  cluster c;
  c.lose(c.attach({.index = 4, .incarnation = 1}));
  c.attach({.index = 4, .incarnation = 2, .host = "new"});
  EXPECT_EQ(c.fx().welcomes.at(0).index, 4);
  EXPECT_TRUE(c.fx().disconnects.empty());
  auto const t = c.task(4);
  EXPECT_EQ(t.state, task_state::connected);
  EXPECT_EQ(t.restarts, 1u);
  EXPECT_EQ(t.host, "new");
  EXPECT_EQ(t.error, "");
}

TEST(attach, a_row_number_stays_the_same_over_restarts_and_is_never_given_twice) {
  cluster c;
  auto const w = c.attach({.index = 0});
  auto const row = c.task(0).row;
  c.lose(w);
  c.attach({.index = 0});
  EXPECT_EQ(c.task(0).row, row);
  c.attach({.index = 1});
  EXPECT_NE(c.task(1).row, row);
}

TEST(attach, an_incarnation_whose_row_was_taken_over_gets_a_new_one) {
  cluster c;
  c.lose(c.attach({.index = 0, .incarnation = 1}));
  c.attach({.index = 0, .incarnation = 2});
  EXPECT_EQ(index_of(c, {.incarnation = 1}), 1);
}

}  // namespace
}  // namespace muster::core
