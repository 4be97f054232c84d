#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

opened finished(cluster& c, stream_id w, std::size_t bytes = 1) {
  auto const job = c.open({"f"});
  c.succeed(w, job[0], std::string(bytes, 'x'));
  return job;
}

TEST(retention, finished_jobs_beyond_the_limit_remove_the_oldest) {
  config small;
  small.finished_jobs_max = 2;
  cluster c(small);
  auto const w = c.attach();
  auto const a = finished(c, w);
  auto const b = finished(c, w);
  EXPECT_TRUE(c.core.sessions().find(a.id));
  auto const d = finished(c, w);
  EXPECT_FALSE(c.core.sessions().find(a.id));
  EXPECT_FALSE(c.core.closures().find(a[0]));
  EXPECT_TRUE(c.core.sessions().find(b.id));
  EXPECT_TRUE(c.core.sessions().find(d.id));
  EXPECT_EQ(c.core.sessions().find(a.id).error(),
            (status{code::not_found,
                    "job_0000000000000001 has ended and was removed, 0 s ago: more jobs "
                    "than --jobs-kept (2) have finished since"}));
}

TEST(retention, the_oldest_is_the_one_that_finished_first) {
  config small;
  small.finished_jobs_max = 1;
  cluster c(small);
  auto const w = c.attach({.slots = 2, .credits = 2});
  auto const a = c.open({"f"});
  auto const b = c.open({"f"});
  c.succeed(w, b[0]);
  c.succeed(w, a[0]);
  EXPECT_FALSE(c.core.sessions().find(b.id));
  EXPECT_TRUE(c.core.sessions().find(a.id));
}

TEST(retention, deleted_jobs_do_not_count) {
  config small;
  small.finished_jobs_max = 2;
  cluster c(small);
  auto const w = c.attach();
  auto const a = finished(c, w);
  auto const b = finished(c, w);
  c.ask(delete_session{{}, b.id});
  finished(c, w);
  EXPECT_TRUE(c.core.sessions().find(a.id));
  finished(c, w);
  EXPECT_FALSE(c.core.sessions().find(a.id));
}

TEST(retention, values_beyond_the_byte_limit_remove_the_oldest_jobs) {
  config small;
  small.value_bytes_max = 100;
  cluster c(small);
  auto const w = c.attach();
  auto const a = finished(c, w, 40);
  auto const b = finished(c, w, 40);
  auto const d = finished(c, w, 20);
  EXPECT_EQ(c.core.overview(c.now()).values_held_bytes, 100u);
  auto const e = finished(c, w, 50);
  EXPECT_FALSE(c.core.sessions().find(a.id));
  EXPECT_FALSE(c.core.sessions().find(b.id));
  EXPECT_TRUE(c.core.sessions().find(d.id));
  EXPECT_TRUE(c.core.sessions().find(e.id));
  EXPECT_EQ(c.core.overview(c.now()).values_held_bytes, 70u);
  EXPECT_EQ(c.core.overview(c.now()).values_held, 2u);
}

TEST(retention, a_running_job_is_never_forgotten) {
  config small;
  small.value_bytes_max = 10;
  small.finished_jobs_max = 0;
  cluster c(small);
  auto const w = c.attach();
  auto const job = c.open({"f", "f"});
  c.succeed(w, job[0], std::string(50, 'x'));
  EXPECT_EQ(c.core.closures().find(job[0])->data.size(), 50u);
  c.park(join_session{{}, job.id, never});
  auto const call = c.last_call();
  c.succeed(w, job[1]);
  EXPECT_EQ(std::get<join_reply>(c.reply_to(call)->body).state, job_state::succeeded);
  EXPECT_FALSE(c.core.sessions().find(job.id))
      << "but then at once, after the waiting callers were answered";
}

TEST(retention, only_finished_jobs_can_be_deleted) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open({"f"});
  EXPECT_EQ(c.status_of(delete_session{{}, job.id}),
            (status{code::failed_precondition,
                    "job_0000000000000001 has not finished: cancel it first"}));
  c.succeed(w, job[0], "12345");
  EXPECT_EQ(c.core.overview(c.now()).values_held_bytes, 5u);
  EXPECT_EQ(c.status_of(delete_session{{}, job.id}), status{});
  EXPECT_EQ(c.core.overview(c.now()).values_held, 0u);
  EXPECT_EQ(c.core.overview(c.now()).values_held_bytes, 0u);
  EXPECT_EQ(c.status_of(delete_session{{}, job.id}).code, code::not_found);
}

TEST(retention, a_forgotten_closure_is_recognised_after_its_place_was_used_again) {
  cluster c;
  auto const w = c.attach();
  auto const old = finished(c, w);
  c.ask(delete_session{{}, old.id});
  auto const fresh = c.open({"f"});
  ASSERT_NE(fresh[0], old[0]);
  EXPECT_EQ(
      c.core.closures().find(old[0]).error(),
      (status{code::not_found, "there is no cl_0000000100000000, or its value was released"}));
  EXPECT_EQ(c.core.closures().explain(old[0], c.now()).error().code, code::not_found);
  EXPECT_EQ(c.status_of(cancel_closure{{}, old[0]}).code, code::not_found);
  EXPECT_EQ(
      c.status_of(await_value{{}, old[0], never}),
      (status{code::not_found, "there is no cl_0000000100000000, or its value was released"}));
  EXPECT_EQ(c.state(fresh[0]), closure_state::running);
}

TEST(retention, unknown_closure_is_not_reported_as_removed) {
  cluster c;
  c.open({"f"});
  EXPECT_EQ(
      c.status_of(await_value{{}, closure_id{5}, never}),
      (status{code::not_found, "there is no cl_0000000000000005, or its value was released"}));
}

TEST(retention, totals_since_the_start_include_removed_jobs) {
  cluster c;
  auto const w = c.attach();
  c.ask(delete_session{{}, finished(c, w).id});
  auto const v = c.core.overview(c.now());
  EXPECT_EQ(v.closures.succeeded, 1u);
  EXPECT_EQ(v.jobs_succeeded, 1u);
  EXPECT_EQ(v.jobs_running, 0u);
  EXPECT_EQ(c.core.functions().all().at(0).succeeded, 1u);
}

}  // namespace
}  // namespace muster::core
