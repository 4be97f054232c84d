#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

TEST(held, only_by_its_own_stream_and_attempt) {
  cluster c;
  auto const w = c.attach({.slots = 1, .credits = 1});
  auto const other = c.attach({.slots = 1, .credits = 1});
  auto const job = c.open({"f", "f", "f"});
  ASSERT_EQ(c.held(w), closures({job[0]}));
  EXPECT_EQ(c.core.held(w, job[0], 1), (held_place{job.id, 0}));
  EXPECT_EQ(c.core.held(other, job[1], 1), (held_place{job.id, 1}));
  EXPECT_FALSE(c.core.held(w, job[1], 1));
  EXPECT_FALSE(c.core.held(w, job[0], 2));
  EXPECT_FALSE(c.core.held(w, job[2], 0));
  EXPECT_FALSE(c.core.held(w, closure_id{12345}, 1));
  EXPECT_FALSE(c.core.held(stream_id{99}, job[0], 1));
  c.succeed(w, job[0]);
  EXPECT_FALSE(c.core.held(w, job[0], 1));
}

TEST(held, by_the_next_attempt_after_a_loss) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open({"f"});
  c.lose(w);
  EXPECT_FALSE(c.core.held(w, job[0], 1));
  auto const next = c.attach();
  EXPECT_FALSE(c.core.held(next, job[0], 1));
  EXPECT_TRUE(c.core.held(next, job[0], 2));
}

TEST(released, when_a_job_is_deleted) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open({"f"});
  c.succeed(w, job[0]);
  EXPECT_TRUE(c.fx().released.empty());
  c.ask(delete_session{{}, job.id});
  EXPECT_EQ(c.fx().released, std::vector{job.id});
  c.tick();
  EXPECT_TRUE(c.fx().released.empty());
}

TEST(released, when_too_many_jobs_have_finished) {
  config small;
  small.finished_jobs_max = 1;
  cluster c(small);
  auto const w = c.attach();
  auto const a = c.open({"f"});
  c.succeed(w, a[0]);
  auto const b = c.open({"f"});
  c.succeed(w, b[0]);
  EXPECT_EQ(c.fx().released, std::vector{a.id});
}

TEST(released, when_a_stream_has_ended_and_nothing_of_it_runs) {
  config none_kept;
  none_kept.ended_sessions_max = 0;
  cluster c(none_kept);
  auto const w = c.attach();
  auto const s = c.stream();
  c.schedule(s, {"f"});
  c.step(close_session{s});
  EXPECT_TRUE(c.fx().released.empty());
  c.succeed(w, c.held(w).front());
  EXPECT_EQ(c.fx().released, std::vector{s});
}

}  // namespace
}  // namespace muster::core
