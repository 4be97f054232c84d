// A suitable worker may still attach; otherwise the call fails with an explanation.
#include "server/core/transitions/placing/version_watch.hpp"
#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

constexpr auto old = "python:3.11";
constexpr auto fresh = "python:3.12";
constexpr auto refusal =
    "the call requires python:3.12, but the connected workers have python:3.11; start a worker "
    "with "
    "'python3.12 -m muster worker', or use a version that the workers provide";

std::string error_of(cluster const& c, closure_id id) {
  auto const v = c.core.closures().find(id);
  if (!v || !v->error) return "none";
  EXPECT_EQ(v->error->kind, failure_kind::stale_handle);
  return v->error->message;
}

TEST(versions, a_function_is_a_version_when_it_ends_with_one) {
  EXPECT_EQ(family_of("python:3.11"), "python");
  EXPECT_EQ(family_of("a:b:20"), "a:b");
  for (auto const plain : {"", "f", "python", "python:", ":3", "python:dev", "python:3.x", "a:.3"})
    EXPECT_EQ(family_of(plain), "") << plain;
}

TEST(versions, unavailable_version_is_rejected_at_once_if_workers_have_another) {
  cluster c;
  c.attach({.functions = {old, "f"}});
  auto const job = c.open({fresh});
  EXPECT_EQ(error_of(c, job[0]), refusal);
  EXPECT_EQ(c.state(c.open({"other"})[0]), closure_state::queued) << "not a version";
}

TEST(versions, stream_session_receives_the_error_as_an_outcome) {
  cluster c;
  c.attach({.functions = {old}});
  auto const s = c.stream();
  c.schedule(s, {fresh});
  ASSERT_EQ(c.fx().outcomes.size(), 1u);
  EXPECT_EQ(c.fx().outcomes[0].failure->message, refusal);
}

TEST(versions, closure_waits_without_any_worker_of_the_family) {
  cluster c;
  c.attach({.functions = {"f"}});
  auto const job = c.open({fresh});
  c.advance(1h);
  EXPECT_EQ(c.state(job[0]), closure_state::queued);
  auto const nobody = c.core.closures().explain(job[0], c.now())->version;
  EXPECT_EQ(nobody.value().family, "python");
  EXPECT_TRUE(nobody->present.empty());
  auto const w = c.attach({.functions = {fresh}});
  EXPECT_EQ(c.held(w), closures{job[0]});
}

TEST(versions, first_worker_of_the_family_starts_a_grace_period) {
  cluster c;
  auto const job = c.open({fresh});
  c.attach({.functions = {old}});
  EXPECT_EQ(c.state(job[0]), closure_state::queued);
  auto const waits = c.core.closures().explain(job[0], c.now())->version;
  EXPECT_EQ(waits.value().wanted, fresh);
  EXPECT_EQ(waits->present, names{old});
  EXPECT_EQ(waits->fails_in, 5'000ms);
  auto const late = c.open({fresh});
  EXPECT_EQ(c.state(late[0]), closure_state::queued);
  c.advance(4s);
  EXPECT_EQ(c.state(job[0]), closure_state::queued);
  c.advance(2s);
  EXPECT_EQ(error_of(c, job[0]), refusal);
  EXPECT_EQ(error_of(c, late[0]), refusal);
}

TEST(versions, worker_that_attaches_in_time_runs_the_closure) {
  cluster c;
  auto const job = c.open({fresh});
  c.attach({.functions = {old}});
  c.advance(4s);
  auto const w = c.attach({.functions = {fresh}});
  EXPECT_EQ(c.held(w), closures{job[0]});
  c.advance(6s);
  EXPECT_EQ(c.state(job[0]), closure_state::running);
}

TEST(versions, restarted_worker_counts_as_present_for_the_grace_period) {
  cluster c;
  c.attach({.functions = {old}});
  auto const w = c.attach({.functions = {fresh}, .index = 1});
  auto const first = c.open({fresh});
  c.succeed(w, first[0]);
  c.leave(w);
  auto const job = c.open({fresh});
  EXPECT_EQ(c.state(job[0]), closure_state::queued);
  c.advance(4s);
  auto const again = c.attach({.functions = {fresh}, .index = 1});
  EXPECT_EQ(c.held(again), closures{job[0]});
  c.leave(again);
  EXPECT_EQ(c.state(job[0]), closure_state::queued);
  c.advance(6s);
  EXPECT_EQ(error_of(c, job[0]), refusal);
}

TEST(versions, draining_or_cordoned_worker_counts_as_present) {
  cluster c;
  c.attach({.functions = {old}});
  auto const w = c.attach({.functions = {fresh}, .index = 1});
  EXPECT_TRUE(c.status_of(cordon_task{{}, "worker", 1, true}).ok());
  auto const job = c.open({fresh});
  c.advance(6s);
  EXPECT_EQ(c.state(job[0]), closure_state::queued);
  c.step(worker_drain{w});
  c.advance(6s);
  EXPECT_EQ(c.state(job[0]), closure_state::queued);
}

TEST(versions, blocked_and_delayed_closures_fail_too) {
  cluster c;
  auto const producer = c.open({"f"});
  auto specs = c.specs({fresh, fresh});
  specs[0].extras = std::make_shared<closure_extras>(closure_extras{{}, {{producer[0], 0}}});
  closure_options later;
  later.delay = 1h;
  specs[1].extras = std::make_shared<closure_extras>(closure_extras{later, {}});
  auto const job = c.open_with(std::move(specs), continue_all());
  c.attach({.functions = {old}});
  c.advance(6s);
  EXPECT_EQ(error_of(c, job[0]), refusal);
  EXPECT_EQ(error_of(c, job[1]), refusal);
}

TEST(versions, many_waiting_closures_end_in_steps) {
  cluster c;
  auto const job = c.open(names(12'000, fresh), continue_all());
  c.attach({.functions = {old}});
  c.wait(5s);
  c.tick();
  EXPECT_EQ(c.job(job.id).counts.failed, 5'000u);
  c.advance(1s);
  EXPECT_EQ(c.job(job.id).counts.failed, 12'000u);
}

TEST(versions, without_a_grace_period_closures_fail_at_once) {
  config none;
  none.reconnect_grace = {};
  cluster c(none);
  auto const job = c.open({fresh});
  c.attach({.functions = {old}});
  c.advance(1ms);
  EXPECT_EQ(error_of(c, job[0]), refusal);
}

}  // namespace
}  // namespace muster::core
