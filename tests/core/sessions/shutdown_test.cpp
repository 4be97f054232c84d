#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

status const going{code::unavailable, "the server is shutting down"};

TEST(shutdown, every_parked_call_is_answered) {
  cluster c;
  auto const job = c.open({"f"});
  auto const join = c.park(join_session{{}, job.id, never});
  auto const value = c.park(await_value{{}, job[0], start + 1s});
  c.step(stop{});
  EXPECT_EQ(c.fx().replies, (std::vector{reply{value, going, {}}, reply{join, going, {}}}));
  EXPECT_TRUE(c.watch().open_calls().empty());
  EXPECT_EQ(c.core.next_deadline(), never);
  EXPECT_TRUE(c.step(stop{}).replies.empty());
}

TEST(shutdown, new_calls_and_workers_are_refused) {
  cluster c;
  auto const job = c.open({"f"}, left_open());
  c.step(stop{});
  EXPECT_EQ(c.status_of(open_session{{}, {}, {}}), going);
  EXPECT_EQ(c.status_of(schedule{{}, job.id, c.specs({"f"})}), going);
  EXPECT_EQ(c.status_of(join_session{{}, job.id, never}), going);
  EXPECT_EQ(c.status_of(await_value{{}, job[0], never}), going);
  auto const w = c.attach();
  EXPECT_EQ(c.fx().disconnects, (std::vector{disconnect{w, going, false}}));
  EXPECT_EQ(c.job(job.id).counts.total(), 1u);
}

TEST(shutdown, closures_scheduled_on_a_stream_get_a_final_outcome) {
  cluster c;
  auto const s = c.stream();
  c.step(stop{});
  auto const t = c.schedule(s, {"f"});
  EXPECT_EQ(
      c.fx().outcomes,
      (std::vector{outcome{
          s, t[0], false, {}, failure{failure_kind::cancelled, "", going.message, "", "", 0}}}));
}

TEST(shutdown, closures_of_a_resumable_session_get_no_outcome) {
  cluster c;
  auto const s = c.open({}, resumable_values()).id;
  c.step(stop{});
  c.schedule(s, {"f"});
  EXPECT_TRUE(c.fx().outcomes.empty());
  EXPECT_EQ(c.job(s).counts.total(), 0u);
}

TEST(shutdown, results_are_still_taken_and_nothing_more_is_dispatched) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open({"f", "f"});
  c.step(stop{});
  c.succeed(w, job[0], "saved");
  EXPECT_EQ(c.core.closures().find(job[0])->data, blob("saved"));
  EXPECT_TRUE(c.fx().assignments.empty());
  EXPECT_EQ(c.state(job[1]), closure_state::queued);
}

}  // namespace
}  // namespace muster::core
