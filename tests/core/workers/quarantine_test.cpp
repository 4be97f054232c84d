#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

void lose_workers(cluster& c, int times, std::uint32_t slots = 1) {
  for (int i = 0; i < times; ++i) c.lose(c.attach({.slots = slots, .credits = slots}), "gone");
}

TEST(quarantine, three_lost_workers_fail_the_closure) {
  cluster c;
  auto const job = c.open({"f"});
  lose_workers(c, 2);
  EXPECT_EQ(c.state(job[0]), closure_state::queued);
  lose_workers(c, 1);
  auto const closure = c.core.closures().find(job[0]).value();
  EXPECT_EQ(closure.state, closure_state::failed);
  EXPECT_EQ(closure.value, value_state::aborted);
  EXPECT_EQ(closure.error,
            (failure{failure_kind::worker_lost, "",
                     "3 workers were lost while they ran it, and max_worker_failures is 3: "
                     "worker:0 (gone), worker:1 (gone), worker:2 (gone)",
                     "", "worker:2", 3}));
  EXPECT_EQ(closure.attempts.size(), 3u);
  EXPECT_EQ(c.job(job.id).state, job_state::failed);
  EXPECT_EQ(c.job(job.id).requeued, 2u);
}

TEST(quarantine, silent_host_is_not_counted_against_its_closures) {
  cluster c;
  auto const job = c.open({"f"});
  for (int i = 0; i < 5; ++i) {
    c.attach();
    ASSERT_EQ(c.state(job[0]), closure_state::running);
    c.advance(16s);
    ASSERT_EQ(c.state(job[0]), closure_state::queued) << i;
  }
}

TEST(quarantine, scheduled_closures_survive_lost_workers_unless_the_session_has_a_limit) {
  cluster c;
  auto const s = c.open({"f"}, resumable_values()).id;
  lose_workers(c, 9);
  EXPECT_EQ(c.job(s).counts.queued, 1u);
  auto spec = resumable_values();
  spec.max_worker_failures = 2;
  cluster d;
  auto const t = d.open({"f"}, spec).id;
  lose_workers(d, 2);
  EXPECT_EQ(d.job(t).counts.failed, 1u);
}

TEST(quarantine, is_counted_among_the_aborted_values) {
  cluster c;
  c.open({"f"});
  lose_workers(c, 3);
  auto const v = c.core.overview(c.now());
  EXPECT_EQ(v.values_aborted, 1u);
  EXPECT_EQ(v.values_ready, 0u);
  EXPECT_EQ(v.values_not_ready, 0u);
}

TEST(quarantine, limit_of_the_session_overrides_the_default) {
  cluster c;
  auto spec = fail_fast();
  spec.max_worker_failures = 1;
  auto const strict = c.open({"f"}, spec);
  lose_workers(c, 1);
  EXPECT_EQ(c.state(strict[0]), closure_state::failed);
  spec.max_worker_failures = 5;
  auto const patient = c.open({"f"}, spec);
  lose_workers(c, 4);
  EXPECT_EQ(c.state(patient[0]), closure_state::queued);
  lose_workers(c, 1);
  EXPECT_EQ(c.state(patient[0]), closure_state::failed);
}

TEST(quarantine, never_happens_without_a_limit) {
  cluster c;
  auto spec = fail_fast();
  spec.unlimited_worker_failures = true;
  auto const job = c.open({"f"}, spec);
  lose_workers(c, 300);
  EXPECT_EQ(c.state(job[0]), closure_state::queued);
  config open_end;
  open_end.max_worker_failures = 0;
  cluster d(open_end);
  auto const other = d.open({"f"});
  lose_workers(d, 10);
  EXPECT_EQ(d.state(other[0]), closure_state::queued);
}

TEST(quarantine, only_closures_that_can_have_been_running_are_suspected) {
  cluster c;
  auto spec = continue_all();
  spec.max_worker_failures = 1;
  auto const w = c.attach({.slots = 2, .credits = 8});
  auto const warm = c.open(names(2, "f"));
  c.answer(w, {c.good(w, warm[0]), c.good(w, warm[1])});  // widens its window to 4
  auto const job = c.open(names(4, "f"), spec);
  ASSERT_EQ(c.held(w), job.closures);
  c.lose(w);
  EXPECT_EQ(c.state(job[0]), closure_state::failed);
  EXPECT_EQ(c.state(job[1]), closure_state::failed);
  EXPECT_EQ(c.state(job[2]), closure_state::queued);
  EXPECT_EQ(c.state(job[3]), closure_state::queued);
}

TEST(quarantine, clean_disconnect_makes_no_closure_suspect) {
  cluster c;
  auto spec = fail_fast();
  spec.max_worker_failures = 1;
  auto const job = c.open({"f"}, spec);
  for (int i = 0; i < 3; ++i) c.leave(c.attach());
  EXPECT_EQ(c.state(job[0]), closure_state::queued);
  EXPECT_EQ(c.job(job.id).requeued, 3u);
}

TEST(quarantine, stops_the_rest_of_a_fail_fast_job_except_on_the_lost_worker) {
  cluster c;
  auto spec = fail_fast();
  spec.max_worker_failures = 1;
  auto const w = c.attach({.slots = 2, .credits = 2});
  auto const other = c.attach();
  auto const job = c.open(names(4, "f"), spec);
  ASSERT_EQ(c.held(w), closures({job[0], job[2]}));
  c.lose(w);
  EXPECT_EQ(c.fx().stop_requests, (std::vector{stop_request{other, job[1], 1}}));
  EXPECT_EQ(c.state(job[2]), closure_state::failed);
  EXPECT_EQ(c.state(job[0]), closure_state::cancelled);
  EXPECT_EQ(c.state(job[3]), closure_state::cancelled);
  EXPECT_TRUE(c.job(job.id).stopping);
  c.succeed(other, job[1]);
  EXPECT_EQ(c.job(job.id).state, job_state::failed);
}

}  // namespace
}  // namespace muster::core
