// Closures whose error is their own: no error of others stops them, and theirs stops nobody.
#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

using tokens = std::vector<std::uint64_t>;

struct own_errors : testing::Test {
  cluster c;
  stream_id w = c.attach({.slots = 3, .credits = 3});
  session_id s = c.open({}, resumable_values()).id;

  closure_id id(std::uint64_t token) { return c.core.closure_of(s, token); }
  /// One closure; of no generation.
  closure_id submit(std::uint32_t generation = 0) {
    auto specs = c.specs({"f"});
    specs[0].own_error = true;
    auto const token = specs[0].token;
    c.step(core::schedule{{}, s, std::move(specs), generation});
    return id(token);
  }
  closure_id schedule() { return id(c.schedule(s, {"f"})[0]); }
  join_session join(session_id of, join_mode mode) { return {{}, of, c.now() + 10s, mode}; }
};

TEST_F(own_errors, one_fails_alone_and_ends_no_generation) {
  auto const other = schedule();
  auto const own = submit();
  c.fail(w, own, "its own");
  EXPECT_EQ(c.fx().notices, std::vector<session_notice>{});
  ASSERT_EQ(c.fx().outcomes.size(), 1u);
  EXPECT_EQ(c.fx().outcomes[0].failure->message, "its own");
  EXPECT_EQ(c.state(other), closure_state::running);
  EXPECT_EQ(c.job(s).generation, 1u);
  EXPECT_EQ(c.job(s).error, std::nullopt);
}

TEST_F(own_errors, an_error_of_others_stops_none_that_runs_or_waits) {
  auto const bad = schedule();
  auto const running = submit();
  auto const scheduled = schedule();
  auto const queued = submit();
  auto const after = schedule();
  c.fail(w, bad, "of the generation");
  EXPECT_EQ(c.state(after), closure_state::cancelled);
  EXPECT_EQ(c.state(queued), closure_state::running) << "it took the place that is free";
  ASSERT_EQ(c.fx().stop_requests.size(), 1u);
  EXPECT_EQ(c.fx().stop_requests[0].closure, scheduled);
  c.succeed(w, scheduled);
  EXPECT_EQ(c.noticed(s), notices{notice_kind::drained}) << "though two of the session still run";
  EXPECT_EQ(c.job(s).generation, 2u);
  c.succeed(w, running, "1");
  c.succeed(w, queued, "2");
  EXPECT_EQ(c.core.closures().look(running)->data, blob("1"));
  EXPECT_EQ(c.core.closures().look(queued)->data, blob("2"));
  EXPECT_EQ(c.job(s).generation, 2u);
}

TEST_F(own_errors, they_are_taken_while_a_generation_is_drained_and_others_are_not) {
  auto const bad = schedule();
  auto const draining = schedule();
  c.fail(w, bad);
  ASSERT_TRUE(c.job(s).stopping);
  EXPECT_EQ(c.state(submit()), closure_state::running);
  c.schedule(s, {"f"});
  ASSERT_EQ(c.fx().outcomes.size(), 1u);
  EXPECT_EQ(c.fx().outcomes[0].failure->kind, failure_kind::cancelled);
  c.succeed(w, draining);
  EXPECT_EQ(c.job(s).generation, 2u);
}

TEST_F(own_errors, a_cancel_of_the_session_ends_them_too) {
  auto const running = submit();
  for (int i = 0; i < 2; ++i) submit();
  auto const queued = submit();
  c.ask(cancel_session{{}, s});
  EXPECT_EQ(c.state(queued), closure_state::cancelled);
  EXPECT_EQ(c.fx().stop_requests.size(), 3u);
  c.fail(w, running, "stopped", failure_kind::cancelled);
  EXPECT_EQ(c.core.closures().look(running)->error->kind, failure_kind::cancelled);
}

TEST_F(own_errors, a_close_waits_for_them) {
  auto const own = submit();
  c.step(close_session{s});
  EXPECT_EQ(c.job(s).state, job_state::running);
  c.succeed(w, own);
  EXPECT_NE(c.job(s).state, job_state::running);
}

TEST_F(own_errors, one_whose_input_is_cancelled_with_its_generation_says_so_itself) {
  auto const bad = schedule();
  schedule(), schedule();
  auto const input = schedule();  // queued
  auto specs = c.specs({"f"});
  specs[0].own_error = true;
  specs[0].args = blob("[]");
  auto extras = std::make_shared<closure_extras>();
  extras->inputs = {{input, 0, 1}};
  specs[0].extras = extras;
  auto const token = specs[0].token;
  c.step(core::schedule{{}, s, std::move(specs)});
  c.fail(w, bad);
  auto const told = c.core.closures().look(id(token));
  ASSERT_TRUE(told && told->error);
  EXPECT_EQ(told->error->kind, failure_kind::input);
}

TEST_F(own_errors, one_that_is_lost_while_its_session_drains_runs_again) {
  auto const v = c.attach({.functions = {"g"}, .slots = 1, .credits = 1});
  auto specs = c.specs({"g"});
  specs[0].own_error = true;
  auto const token = specs[0].token;
  c.step(core::schedule{{}, s, std::move(specs)});
  auto const bad = schedule();
  schedule();
  c.fail(w, bad);
  ASSERT_TRUE(c.job(s).stopping);
  c.lose(v, "killed");
  EXPECT_EQ(c.state(id(token)), closure_state::queued);
}

TEST_F(own_errors, a_join_by_call_waits_for_them_and_an_error_does_not) {
  s = c.open({}, by_call()).id;
  auto specs = c.specs({"f", "f"});
  specs[1].own_error = true;
  auto const r = c.reply_to_event(core::schedule{{}, s, std::move(specs)});
  auto const ids = std::get<session_reply>(r.body).closures;
  auto const first = c.park(join(s, join_mode::drain));
  auto const second = c.park(join(s, join_mode::drain));
  c.fail(w, ids[0], "raised once");
  auto const got = c.reply_to(first);
  ASSERT_TRUE(got);
  EXPECT_TRUE(std::get<join_reply>(got->body).has_error);
  EXPECT_FALSE(std::get<join_reply>(got->body).done);
  EXPECT_FALSE(c.reply_to(second)) << "it got no error, and something is left";
  c.fail(w, ids[1], "told by its value");
  auto const end = c.reply_to(second);
  ASSERT_TRUE(end);
  EXPECT_TRUE(std::get<join_reply>(end->body).done);
  EXPECT_FALSE(std::get<join_reply>(end->body).has_error);
}

TEST_F(own_errors, are_kept_over_a_restart) {
  config durable;
  durable.durable = true;
  cluster k(durable);
  auto const of = k.open({}, resumable_values()).id;
  auto specs = k.specs({"f"});
  specs[0].own_error = true;
  k.step(core::schedule{{}, of, std::move(specs)});
  bool told = false;
  for (auto const& f : k.fx().facts)
    if (auto const* accepted = std::get_if<accepted_fact>(&f))
      told = accepted->closures.at(0).own_error;
  EXPECT_TRUE(told);
}

}  // namespace
}  // namespace muster::core
