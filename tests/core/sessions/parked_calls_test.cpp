#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

std::vector<call_id> answered(cluster const& c) {
  std::vector<call_id> out;
  for (auto const& r : c.fx().replies) out.push_back(r.call);
  return out;
}

TEST(parked_calls, a_join_is_answered_when_the_job_ends) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open({"f"});
  auto const call = c.park(join_session{{}, job.id, never});
  EXPECT_EQ(c.core.overview(c.now()).parked_calls, 1u);
  c.fail(w, job[0], "first");
  EXPECT_EQ(c.fx().replies,
            (std::vector{reply{call,
                               {},
                               join_reply{true,
                                          job_state::failed,
                                          true,
                                          {failure_kind::user, "", "first", "", "worker:0", 1}}}}));
  EXPECT_EQ(c.core.overview(c.now()).parked_calls, 0u);
}

TEST(parked_calls, joins_of_a_job_are_answered_in_order_of_arrival) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open({"f"});
  auto const first = c.park(join_session{{}, job.id, start + 9s});
  auto const second = c.park(join_session{{}, job.id, start + 3s});
  c.succeed(w, job[0]);
  EXPECT_EQ(answered(c), (std::vector{first, second}));
}

TEST(parked_calls, a_join_of_an_ended_job_is_answered_at_once) {
  cluster c;
  auto const job = c.open({});
  auto const r = c.reply_to_event(join_session{{}, job.id, start});
  EXPECT_EQ(r, (reply{c.last_call(), {}, join_reply{true, job_state::succeeded, false, {}}}));
}

TEST(parked_calls, a_join_is_answered_at_its_deadline) {
  cluster c;
  auto const job = c.open({"f"});
  auto const call = c.park(join_session{{}, job.id, start + 2s});
  EXPECT_EQ(c.core.next_deadline(), start + 2s);
  c.advance(2s - 1us);
  EXPECT_TRUE(c.watch().open_calls().contains(call));
  c.advance(1us);
  EXPECT_EQ(c.reply_to(call),
            (reply{call,
                   {code::deadline_exceeded, "job_0000000000000001 is still running"},
                   join_reply{false, job_state::running, false, {}}}));
  EXPECT_EQ(c.core.next_deadline(), never);
  c.ask(cancel_session{{}, job.id});
  EXPECT_EQ(c.fx().replies.size(), 1u) << "only the cancel is answered now";
}

TEST(parked_calls, join_with_an_immediate_deadline_returns_the_state) {
  cluster c;
  auto const job = c.open({"f"});
  auto const r = c.reply_to_event(join_session{{}, job.id, c.now()});
  EXPECT_EQ(r, (reply{c.last_call(),
                      {code::deadline_exceeded, "job_0000000000000001 is still running"},
                      join_reply{false, job_state::running, false, {}}}));
}

TEST(parked_calls, a_value_is_answered_when_its_closure_ends_not_the_job) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open({"f", "f"});
  auto const a = c.park(await_value{{}, job[0], never});
  auto const b = c.park(await_value{{}, job[0], start + 1s});
  c.succeed(w, job[0], "42");
  value_reply const v{closure_state::succeeded, value_state::ready, blob("42"), {}};
  EXPECT_EQ(c.fx().replies, (std::vector{reply{a, {}, v}, reply{b, {}, v}}));
  auto const later = c.reply_to_event(await_value{{}, job[0], start});
  EXPECT_EQ(later, (reply{c.last_call(), {}, v}));
}

TEST(parked_calls, waiting_for_a_value_survives_a_lost_worker) {
  cluster c;
  auto const job = c.open({"f"});
  auto const call = c.park(await_value{{}, job[0], never});
  c.lose(c.attach());
  EXPECT_FALSE(c.reply_to(call));
  c.succeed(c.attach(), job[0], "at last");
  EXPECT_EQ(std::get<value_reply>(c.reply_to(call)->body).data, blob("at last"));
}

TEST(parked_calls, failed_cancelled_and_quarantined_values_report_the_reason) {
  cluster c;
  auto spec = continue_all();
  spec.max_worker_failures = 1;
  auto const job = c.open({"f", "f", "f"}, spec);
  for (auto const id : job.closures) c.park(await_value{{}, id, never});
  auto const value = [&] { return std::get<value_reply>(c.fx().replies.at(0).body); };
  c.ask(cancel_closure{{}, job[2]});
  EXPECT_EQ(value().state, closure_state::cancelled);
  EXPECT_EQ(value().value, value_state::ready);
  EXPECT_EQ(value().failure.message, "cancelled");
  c.lose(c.attach());
  EXPECT_EQ(value().state, closure_state::failed);
  EXPECT_EQ(value().value, value_state::aborted);
  auto const w = c.attach();
  c.fail(w, job[1], "broken");
  EXPECT_EQ(value().value, value_state::ready);
  EXPECT_EQ(value().failure.message, "broken");
}

TEST(parked_calls, a_value_is_answered_at_its_deadline) {
  cluster c;
  auto const job = c.open({"f"});
  status const late{code::deadline_exceeded, "cl_0000000100000000 has not finished"};
  EXPECT_EQ(c.status_of(await_value{{}, job[0], c.now()}), late);
  auto const call = c.park(await_value{{}, job[0], start + 1s});
  c.advance(1s);
  EXPECT_EQ(c.reply_to(call), (reply{call, late, {}}));
  c.succeed(c.attach(), job[0]);
  EXPECT_FALSE(c.reply_to(call));
}

TEST(parked_calls, are_answered_in_the_order_of_their_deadlines) {
  cluster c;
  auto const job = c.open({"f"});
  auto const late = c.park(join_session{{}, job.id, start + 3s});
  auto const early = c.park(await_value{{}, job[0], start + 1s});
  auto const between = c.park(join_session{{}, job.id, start + 2s});
  c.wait(5s);
  c.tick();
  EXPECT_EQ(answered(c), (std::vector{early, between, late}));
}

TEST(parked_calls, disconnected_caller_is_removed) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open({"f"});
  auto const join = c.park(join_session{{}, job.id, never});
  auto const value = c.park(await_value{{}, job[0], start + 1s});
  EXPECT_EQ(c.step(call_abandoned{join}), effects{});
  EXPECT_EQ(c.step(call_abandoned{value}), effects{});
  EXPECT_EQ(c.core.overview(c.now()).parked_calls, 0u);
  c.succeed(w, job[0]);
  EXPECT_TRUE(c.fx().replies.empty());
  EXPECT_EQ(c.step(call_abandoned{join}), effects{}) << "repeating it is no error";
}

TEST(parked_calls, calls_beyond_the_limit_are_refused_at_once) {
  config small;
  small.parked_calls_max = 2;
  cluster c(small);
  auto const job = c.open({"f"});
  auto const first = c.park(join_session{{}, job.id, never});
  c.park(await_value{{}, job[0], never});
  status const full{code::resource_exhausted,
                    "2 requests are already waiting for results, which is the limit"};
  EXPECT_EQ(c.status_of(join_session{{}, job.id, never}), full);
  EXPECT_EQ(c.status_of(await_value{{}, job[0], never}), full);
  c.step(call_abandoned{first});
  c.park(join_session{{}, job.id, never});
}

TEST(parked_calls, a_join_of_a_stream_is_answered_when_the_stream_is_closed) {
  cluster c;
  auto const w = c.attach();
  auto const s = c.stream();
  c.schedule(s, {"f"});
  auto const call = c.park(join_session{{}, s, start + 1s});
  c.step(close_session{s});
  EXPECT_FALSE(c.reply_to(call));
  c.succeed(w, c.held(w)[0]);
  EXPECT_EQ(c.reply_to(call)->status, (status{code::not_found, "job_0000000000000001 has ended"}));
  c.advance(2s);
}

TEST(parked_calls, a_value_of_a_stream_may_be_awaited_too) {
  cluster c;
  auto const w = c.attach();
  auto const s = c.stream();
  c.schedule(s, {"f"});
  auto const call = c.park(await_value{{}, c.held(w)[0], never});
  c.succeed(w, c.held(w)[0], "7");
  EXPECT_EQ(std::get<value_reply>(c.reply_to(call)->body).data, blob("7"));
}

}  // namespace
}  // namespace muster::core
