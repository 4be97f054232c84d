#include "server/core/texts/explanation_texts.hpp"
#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

failure cancelled(std::string why, std::uint32_t attempt = 0) {
  return {failure_kind::cancelled, "", std::move(why), "", "", attempt};
}
char const* const after_failure =
    "cancelled because call cl_0000000100000000 (f) failed: first (on worker:0)";
char const* const while_stopping = "the session is stopping after an error or a cancellation";

TEST(streaming, outcomes_carry_the_clients_token_and_nothing_is_kept) {
  cluster c;
  auto const w = c.attach();
  auto const s = c.stream();
  auto const t = c.schedule(s, {"f"});
  EXPECT_TRUE(c.fx().replies.empty());
  auto const id = c.held(w)[0];
  c.succeed(w, id, "42");
  EXPECT_EQ(c.fx().outcomes, (std::vector{outcome{s, t[0], true, blob("42"), {}}}));
  EXPECT_FALSE(c.core.closures().find(id));
  EXPECT_EQ(c.core.overview(c.now()).values_held, 0u);
  EXPECT_EQ(c.job(s).counts.succeeded, 1u);
}

TEST(streaming, session_can_be_opened_with_closures) {
  cluster c;
  auto const w = c.attach();
  auto const s = c.open({"f"}, streaming());
  EXPECT_TRUE(s.closures.empty()) << "a stream identifies its closures by token";
  c.succeed(w, c.held(w)[0]);
  EXPECT_EQ(c.fx().outcomes.at(0).token, 1u);
}

TEST(streaming, first_error_sends_a_notice_and_ends_queued_closures) {
  cluster c;
  auto const w = c.attach();
  auto const s = c.stream();
  auto const t = c.schedule(s, {"f", "f", "f"});
  c.fail(w, c.held(w)[0], "first");
  EXPECT_EQ(
      c.fx().outcomes,
      (std::vector{
          outcome{s, t[0], false, {}, failure{failure_kind::user, "", "first", "", "worker:0", 1}},
          outcome{s, t[1], false, {}, cancelled(after_failure)},
          outcome{s, t[2], false, {}, cancelled(after_failure)}}));
  EXPECT_EQ(c.noticed(s), (notices{notice_kind::failed, notice_kind::drained}));
}

TEST(streaming, drained_notice_is_sent_after_the_last_closure_has_ended) {
  cluster c;
  auto const w = c.attach({.slots = 2, .credits = 2});
  auto const s = c.stream();
  c.schedule(s, {"f", "f"});
  auto const ids = c.held(w);
  c.fail(w, ids[0]);
  EXPECT_EQ(c.noticed(s), notices{notice_kind::failed});
  EXPECT_TRUE(c.job(s).stopping);
  c.fail(w, ids[1], "stopped", failure_kind::cancelled);
  EXPECT_EQ(c.noticed(s), notices{notice_kind::drained});
  EXPECT_FALSE(c.job(s).stopping);
}

TEST(streaming, closures_scheduled_while_it_stops_are_cancelled) {
  cluster c;
  auto const w = c.attach({.slots = 2, .credits = 2});
  auto const s = c.stream();
  c.schedule(s, {"f", "f"});
  auto const ids = c.held(w);
  c.fail(w, ids[0]);
  auto const t = c.schedule(s, {"f"});
  EXPECT_EQ(c.fx().outcomes, (std::vector{outcome{s, t[0], false, {}, cancelled(while_stopping)}}));
  EXPECT_EQ(c.held(w), closures({ids[1]}));
}

TEST(streaming, the_next_generation_starts_clean_and_reports_its_own_error) {
  cluster c;
  auto const w = c.attach();
  auto const s = c.stream();
  for (int generation = 0; generation < 3; ++generation) {
    auto const t = c.schedule(s, {"f", "f"});
    EXPECT_EQ(c.sent(w).size(), 1u);
    EXPECT_FALSE(c.job(s).error);
    c.fail(w, c.held(w)[0], "error " + std::to_string(generation));
    EXPECT_EQ(c.fx().outcomes.at(0).failure->message, "error " + std::to_string(generation));
    EXPECT_EQ(c.noticed(s), (notices{notice_kind::failed, notice_kind::drained}));
  }
}

TEST(streaming, session_that_continues_on_error_gets_no_notice) {
  cluster c;
  auto const w = c.attach();
  auto const s = c.stream(continue_all());
  c.schedule(s, {"f", "f"});
  c.fail(w, c.held(w)[0]);
  EXPECT_EQ(c.noticed(s), notices{});
  c.succeed(w, c.held(w)[0]);
  EXPECT_EQ(c.noticed(s), notices{});
}

TEST(streaming, sealed_session_gets_one_drained_notice) {
  cluster c;
  auto const w = c.attach();
  auto const s = c.stream();
  c.schedule(s, {"f", "f"});
  c.status_of(seal_session{{}, s});
  EXPECT_EQ(c.noticed(s), notices{});
  c.succeed(w, c.held(w)[0]);
  EXPECT_EQ(c.noticed(s), notices{});
  c.succeed(w, c.held(w)[0]);
  EXPECT_EQ(c.noticed(s), notices{notice_kind::drained});
}

TEST(streaming, failed_sealed_session_gets_one_notice) {
  for (bool const by_error : {true, false}) {
    cluster c;
    auto const w = c.attach();
    auto const s = c.stream();
    c.schedule(s, {"f", "g"});
    c.status_of(seal_session{{}, s});
    if (by_error) {
      c.fail(w, c.held(w)[0]);
      EXPECT_EQ(c.noticed(s), (notices{notice_kind::failed, notice_kind::drained}));
    } else {
      c.succeed(w, c.held(w)[0]);
      c.status_of(cancel_session{{}, s});
      EXPECT_EQ(c.noticed(s), notices{notice_kind::drained});
    }
  }
}

TEST(streaming, a_cancel_ends_the_generation_and_may_be_repeated_in_the_next) {
  cluster c;
  auto const s = c.stream();
  for (int i = 0; i < 2; ++i) {
    auto const t = c.schedule(s, {"f"});
    EXPECT_EQ(c.status_of(cancel_session{{}, s}), status{});
    EXPECT_EQ(c.fx().outcomes, (std::vector{outcome{s, t[0], false, {}, cancelled("cancelled")}}));
    EXPECT_EQ(c.noticed(s), notices{notice_kind::drained});
  }
}

TEST(streaming, an_error_while_a_cancel_drains_is_not_noticed_again) {
  cluster c;
  auto const w = c.attach();
  auto const s = c.stream();
  c.schedule(s, {"f"});
  c.ask(cancel_session{{}, s});
  c.fail(w, c.held(w)[0]);
  EXPECT_EQ(c.fx().outcomes.size(), 1u);
  EXPECT_EQ(c.noticed(s), notices{notice_kind::drained});
}

TEST(streaming, unknown_functions_yield_failed_outcomes) {
  cluster c;
  auto const s = c.stream();
  auto bad = c.specs({"f"});
  bad[0].function = function_id{9};
  c.step(schedule{{}, s, bad});
  EXPECT_EQ(c.fx().outcomes,
            (std::vector{outcome{
                s, 1, false, {}, cancelled("closures[0].function: unknown function number")}}));
}

TEST(streaming, schedule_request_with_a_call_always_gets_a_reply) {
  cluster c;
  auto const w = c.attach();
  auto const s = c.stream();
  EXPECT_EQ(c.status_of(schedule{{}, s, c.specs({"f"})}), status{});
  c.ask(cancel_session{{}, s});
  EXPECT_EQ(c.status_of(schedule{{}, s, c.specs({"f"})}),
            (status{code::failed_precondition, while_stopping}));
  EXPECT_TRUE(c.fx().outcomes.empty()) << "all or nothing, and reported once";
  EXPECT_EQ(c.held(w).size(), 1u);
}

TEST(streaming, closing_cancels_remaining_closures_and_removes_the_session) {
  cluster c;
  auto const w = c.attach();
  auto const s = c.stream();
  auto const t = c.schedule(s, {"f", "f"});
  auto const id = c.held(w)[0];
  c.step(close_session{s});
  EXPECT_EQ(c.fx().outcomes,
            (std::vector{outcome{s, t[1], false, {}, cancelled("the client has disconnected")}}));
  EXPECT_EQ(c.fx().stop_requests, (std::vector{stop_request{w, id, 1}}));
  EXPECT_TRUE(c.core.sessions().find(s)) << "a closure of it still runs";
  c.succeed(w, id);
  EXPECT_EQ(c.job(s).state, job_state::cancelled);
  EXPECT_EQ(c.core.overview(c.now()).sessions, 0u);
  EXPECT_EQ(c.step(close_session{s}), effects{});
}

TEST(streaming, closing_an_idle_session_ends_it_at_once_and_frees_its_places) {
  config small;
  small.sessions_max = 1;
  cluster c(small);
  auto spec = session_spec{};
  spec.queue_capacity = 1;
  for (int i = 0; i < 3; ++i) {
    auto const s = c.stream(spec);
    c.schedule(s, {"f"});
    c.step(close_session{s});
    EXPECT_EQ(c.job(s).state, job_state::cancelled);
  }
}

TEST(streaming, a_stream_is_not_deleted) {
  cluster c;
  auto const s = c.stream();
  EXPECT_EQ(c.status_of(delete_session{{}, s}).code, code::failed_precondition);
  EXPECT_TRUE(c.core.sessions().find(s));
}

// A misspelt function must fail only its own closure, not the other thousand in its message.
TEST(streaming, require_function_fails_only_closures_of_unknown_functions) {
  for (auto const kind : {streaming, resumable_values}) {
    cluster c;
    auto const w = c.attach();
    auto spec = kind(continue_all());
    spec.require_function = true;
    auto const s = c.open({}, spec).id;
    auto const tokens = c.schedule(s, {"f", "g"});
    EXPECT_EQ(c.held(w).size(), 1u);
    ASSERT_EQ(c.fx().outcomes.size(), 1u);
    auto const& o = c.fx().outcomes[0];
    EXPECT_EQ(o.token, tokens[1]);
    ASSERT_TRUE(o.failure);
    EXPECT_EQ(o.failure->kind, failure_kind::stale_handle);
    EXPECT_EQ(o.failure->message, text_of_missing_function("g"));
    EXPECT_EQ(c.job(s).counts.failed, 1u);
  }
}

TEST(streaming, unary_call_with_an_unknown_function_is_rejected) {
  cluster c;
  c.attach();
  auto spec = by_call();
  spec.require_function = true;
  auto const s = c.open({}, spec).id;
  EXPECT_EQ(c.status_of(schedule{{}, s, c.specs({"f", "g"})}),
            wrong_field("closures[1].function", text_of_missing_function("g"), 0,
                        code::failed_precondition));
  EXPECT_EQ(c.job(s).counts.total(), 0u);
}

}  // namespace
}  // namespace muster::core
