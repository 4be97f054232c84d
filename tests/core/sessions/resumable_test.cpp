#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

using tokens = std::vector<std::uint64_t>;

release_values release(session_id s, tokens t) {
  return {{}, s, std::move(t), {}};
}
resume_reply resumed(cluster& c, session_id s, tokens live) {
  auto const r = c.reply_to_event(resume_session{{}, s, std::move(live)});
  EXPECT_EQ(r.status, status{});
  auto const* body = std::get_if<resume_reply>(&r.body);
  return body ? *body : resume_reply{};
}
join_reply joined(std::optional<reply> const& r) {
  auto const* body = r ? std::get_if<join_reply>(&r->body) : nullptr;
  return body ? *body : join_reply{};
}

struct resumable_session : testing::Test {
  cluster c;
  stream_id w = c.attach({.slots = 2, .credits = 2});
  session_id s = c.open({}, resumable_values()).id;
  tokens t;  // tokens of the last schedule

  closure_id id(std::uint64_t token) { return c.core.closure_of(s, token); }
  void schedule(names const& functions) { t = c.schedule(s, functions); }
  void again(std::uint64_t token, std::uint32_t generation = 0) {
    auto specs = c.specs({"f"});
    specs[0].token = token;
    c.step(core::schedule{{}, s, std::move(specs), generation});
  }
};

TEST_F(resumable_session, a_value_stays_until_its_token_is_released) {
  schedule({"f"});
  auto const f = id(t[0]);
  c.succeed(w, f, "42");
  EXPECT_EQ(c.fx().outcomes, (std::vector{outcome{s, t[0], true, blob("42"), {}, f}}));
  EXPECT_EQ(c.core.closures().find(f)->data, blob("42"));
  EXPECT_EQ(c.core.overview(c.now()).values_held_bytes, 2u);
  EXPECT_EQ(c.job(s).values, 1u);
  EXPECT_EQ(c.status_of(release(s, {t[0], 999})), status{});
  EXPECT_FALSE(c.core.closures().find(f));
  EXPECT_EQ(id(t[0]), closure_id{});
  EXPECT_EQ(c.core.overview(c.now()).values_held, 0u);
}

TEST_F(resumable_session, failure_is_kept) {
  schedule({"f"});
  auto const f = id(t[0]);
  c.fail(w, f, "broken");
  EXPECT_EQ(c.core.closures().find(f)->error->message, "broken");
}

TEST_F(resumable_session, closure_released_before_its_end_runs_and_keeps_no_value) {
  schedule({"f"});
  auto const f = id(t[0]);
  c.ask(release(s, {t[0]}));
  EXPECT_EQ(c.state(f), closure_state::running);
  c.succeed(w, f, "42");
  EXPECT_EQ(c.fx().outcomes, (std::vector{outcome{s, t[0], true, {}, {}, f}}));
  again(t[0]);  // the client may not have received it
  EXPECT_EQ(c.fx().outcomes, (std::vector{outcome{s, t[0], true, {}, {}, f}}));
  c.ask(release(s, {t[0]}));
  EXPECT_FALSE(c.core.closures().find(f));
}

TEST_F(resumable_session, a_held_value_is_an_input_of_a_later_closure) {
  schedule({"f"});
  c.succeed(w, id(t[0]), "42");
  auto specs = c.specs({"f"});
  specs[0].args = blob("[]");
  auto extras = std::make_shared<closure_extras>();
  extras->inputs = {{id(t[0]), 0, 1}};
  specs[0].extras = extras;
  c.step(core::schedule{{}, s, std::move(specs)});
  ASSERT_EQ(c.fx().assignments.size(), 1u);
  EXPECT_EQ(*c.fx().assignments[0].inputs, std::vector{blob("42")});
}

TEST_F(resumable_session, an_input_that_was_released_fails_only_its_closure) {
  auto bad = c.specs({"f", "f"});
  auto extras = std::make_shared<closure_extras>();
  extras->inputs = {{closure_id{77}, 0, 1}};
  bad[0].extras = extras;
  auto const s2 = c.open({}, resumable_values(continue_all())).id;
  c.step(core::schedule{{}, s2, std::move(bad)});
  ASSERT_EQ(c.fx().outcomes.size(), 1u);
  EXPECT_EQ(c.fx().outcomes[0].failure->kind, failure_kind::input);
  EXPECT_EQ(c.held(w).size(), 1u);
}

TEST_F(resumable_session, a_token_is_scheduled_once) {
  schedule({"f", "f"});
  auto const before = c.held(w);
  again(t[0]);
  EXPECT_TRUE(c.fx().outcomes.empty());
  EXPECT_EQ(c.held(w), before);
  c.succeed(w, id(t[0]), "1");
  again(t[0]);
  EXPECT_EQ(c.fx().outcomes, (std::vector{outcome{s, t[0], true, blob("1"), {}, id(t[0])}}));
}

// Generations.

TEST_F(resumable_session, notices_carry_the_generation_and_the_failure) {
  schedule({"f", "f"});
  auto const [first, second] = std::pair{id(t[0]), id(t[1])};
  c.fail(w, first, "first");
  ASSERT_EQ(c.fx().notices.size(), 1u);
  EXPECT_EQ(c.fx().notices[0].generation, 1u);
  EXPECT_EQ(c.fx().notices[0].failure.message, "first");
  c.fail(w, second, "second");
  EXPECT_EQ(c.fx().notices, (std::vector{session_notification{s, notice_kind::drained, 1, {}}}));
  EXPECT_EQ(c.job(s).generation, 2u);
}

TEST_F(resumable_session, a_closure_of_an_older_generation_does_not_run) {
  schedule({"f"});
  c.fail(w, id(t[0]));
  again(100, 1);
  ASSERT_EQ(c.fx().outcomes.size(), 1u);
  EXPECT_EQ(c.fx().outcomes[0].failure->kind, failure_kind::cancelled);
  EXPECT_EQ(c.fx().outcomes[0].failure->message,
            "the call was scheduled before the client received the end of generation 1");
  EXPECT_EQ(id(100), closure_id{});
  again(101, 2);
  EXPECT_EQ(c.held(w), closures({id(101)}));
}

TEST_F(resumable_session, a_known_token_of_an_older_generation_repeats_its_own_outcome) {
  schedule({"f"});
  c.fail(w, id(t[0]), "first");
  again(t[0], 1);
  ASSERT_EQ(c.fx().outcomes.size(), 1u);
  EXPECT_EQ(c.fx().outcomes[0].failure->message, "first");
}

// Disconnecting and resuming clients.

TEST_F(resumable_session, continues_without_its_client_until_the_grace_period_ends) {
  schedule({"f", "f", "f"});
  auto const all = closures({id(t[0]), id(t[1]), id(t[2])});
  c.step(suspend_session{s});
  EXPECT_FALSE(c.job(s).attached);
  EXPECT_EQ(c.job(s).lease_until, start + 60s);
  c.succeed(w, all[0]);
  EXPECT_EQ(c.state(all[2]), closure_state::running);
  for (int i = 0; i < 12; ++i) c.advance(5s), c.alive(w);
  EXPECT_FALSE(c.core.closures().find(all[0]).has_error() &&
               c.core.sessions().find(s).has_value() && !c.job(s).stopping);
  while (!c.held(w).empty()) c.succeed(w, c.held(w)[0]);
  EXPECT_NE(c.job(s).state, job_state::running);
  EXPECT_EQ(c.core.overview(c.now()).values_held, 0u);
}

TEST_F(resumable_session, returning_client_finds_its_values) {
  schedule({"f", "f", "f"});
  auto const all = closures({id(t[0]), id(t[1]), id(t[2])});
  c.step(suspend_session{s});
  c.succeed(w, all[0], "7");
  c.succeed(w, all[1], "8");
  c.advance(10s);
  EXPECT_EQ(resumed(c, s, {t[0], t[2]}), (resume_reply{1, 0, {}}));
  EXPECT_FALSE(c.core.closures().find(all[1])) << "it was not requested again";
  again(t[0]);
  EXPECT_EQ(c.fx().outcomes, (std::vector{outcome{s, t[0], true, blob("7"), {}, all[0]}}));
  c.advance(10min);
  EXPECT_TRUE(c.core.sessions().find(s)) << "the lease ended with the return";
}

TEST_F(resumable_session, returning_client_receives_the_error_it_missed) {
  schedule({"f", "f"});
  auto const all = closures({id(t[0]), id(t[1])});
  c.step(suspend_session{s});
  c.fail(w, all[0], "missed");
  auto r = resumed(c, s, t);
  EXPECT_EQ(r.generation, 1u) << "it still drains";
  EXPECT_EQ(r.failed_generation, 1u);
  EXPECT_EQ(r.failure.message, "missed");
  c.step(suspend_session{s});
  c.succeed(w, all[1]);
  r = resumed(c, s, t);
  EXPECT_EQ(r.generation, 2u);
  EXPECT_EQ(r.failed_generation, 1u);
  EXPECT_EQ(r.failure.message, "missed");
}

TEST_F(resumable_session, removed_sessions_and_other_kinds_cannot_be_resumed) {
  EXPECT_EQ(c.status_of(resume_session{{}, session_id{99}, {}}).code, code::not_found);
  EXPECT_EQ(c.status_of(resume_session{{}, c.stream(), {}}).code, code::failed_precondition);
  c.step(close_session{s});
  EXPECT_EQ(c.status_of(resume_session{{}, s, {}}).code, code::not_found);
}

TEST_F(resumable_session, grace_period_can_be_set_within_limits) {
  auto spec = resumable_values();
  spec.grace = 5s;
  auto const brief = c.open({}, spec).id;
  c.step(suspend_session{brief});
  c.advance(4s);
  EXPECT_TRUE(c.core.sessions().find(brief));
  c.advance(2s);
  EXPECT_FALSE(c.core.sessions().find(brief));
  spec.grace = 25h;
  EXPECT_EQ(c.status_of(open_session{{}, spec, {}}),
            wrong_field("session_grace", "must be between 0 and 86400 s"));
}

TEST_F(resumable_session, detached_session_lives_until_its_work_is_done_plus_one_hour) {
  auto spec = resumable_values();
  spec.detached = true;
  auto const d = c.open({}, spec).id;
  auto const tok = c.schedule(d, {"g"});  // no worker can run it yet
  c.step(suspend_session{d});
  c.advance(3h);
  EXPECT_EQ(c.job(d).counts.queued, 1u);
  auto const v = c.attach({.functions = {"g"}});
  auto const f = c.core.closure_of(d, tok[0]);
  c.succeed(v, f, "9");
  c.advance(50min);
  EXPECT_EQ(c.core.closures().find(f)->data, blob("9"));
  c.advance(2h);
  EXPECT_EQ(c.job(d).state, job_state::succeeded);
}

TEST_F(resumable_session, operator_can_end_a_session_without_a_client) {
  EXPECT_EQ(c.status_of(delete_session{{}, s}).code, code::failed_precondition);
  c.step(suspend_session{s});
  EXPECT_EQ(c.status_of(delete_session{{}, s}), status{});
  EXPECT_FALSE(c.core.sessions().find(s));
}

TEST_F(resumable_session, exceeding_the_limit_of_held_values_is_an_error_of_the_session) {
  config small;
  small.value_bytes_max = 10;
  cluster k(small);
  auto const worker = k.attach({.slots = 2, .credits = 2});
  auto const h = k.open({}, resumable_values()).id;
  auto const tok = k.schedule(h, {"f"});
  k.succeed(worker, k.core.closure_of(h, tok[0]), "\"123456789\"");
  k.schedule(h, {"f", "f"});
  EXPECT_EQ(k.noticed(h), (notices{notice_kind::failed, notice_kind::drained}));
  EXPECT_EQ(k.fx().outcomes.at(0).failure->message,
            "stored values use 11 bytes (11 of them for values of this session); the limit is 10 "
            "(--value-bytes-max): release RemoteValues");
  k.ask(release(h, tok));
  k.schedule(h, {"f"});
  EXPECT_EQ(k.held(worker).size(), 1u);
}

// Sessions with unary calls.

struct session_by_call : testing::Test {
  cluster c;
  stream_id w = c.attach({.slots = 2, .credits = 2});
  session_id s = c.open({}, by_call()).id;

  closures schedule(names const& functions) { return c.append(s, functions); }
  join_session join(join_mode mode, duration wait = 10s) { return {{}, s, c.now() + wait, mode}; }
};

TEST_F(session_by_call, schedule_gives_the_ids_by_which_values_are_fetched_and_released) {
  auto const ids = schedule({"f", "f"});
  ASSERT_EQ(ids.size(), 2u);
  c.succeed(w, ids[0], "1");
  auto const v = c.reply_to_event(await_value{{}, ids[0], c.now()});
  EXPECT_EQ(std::get<value_reply>(v.body).data, blob("1"));
  c.ask(release_values{{}, s, {}, ids});
  EXPECT_FALSE(c.core.closures().find(ids[0]));
  c.succeed(w, ids[1], "2");
  EXPECT_FALSE(c.core.closures().find(ids[1])) << "released while it ran: removed when it ended";
  EXPECT_EQ(c.status_of(await_value{{}, ids[1], c.now()}).code, code::not_found);
}

TEST_F(session_by_call, a_repeated_token_gives_the_same_closure) {
  auto specs = c.specs({"f"});
  auto const again = specs;
  auto const r1 = c.reply_to_event(core::schedule{{}, s, std::move(specs)});
  auto const r2 = c.reply_to_event(core::schedule{{}, s, again});
  EXPECT_EQ(std::get<session_reply>(r1.body).closures, std::get<session_reply>(r2.body).closures);
  EXPECT_EQ(c.held(w).size(), 1u);
}

TEST_F(session_by_call, every_call_renews_the_lease) {
  for (int i = 0; i < 5; ++i) {
    c.advance(50s);
    c.ask(join(join_mode::settle));
  }
  EXPECT_TRUE(c.core.sessions().find(s));
  c.advance(71s);
  EXPECT_FALSE(c.core.sessions().find(s));
}

TEST_F(session_by_call, a_short_call_does_not_end_the_session_of_a_longer_call) {
  schedule({"f"});
  auto const call = c.park(join(join_mode::drain, 10min));
  c.ask(join(join_mode::settle, 1s));
  c.advance(9min);
  EXPECT_TRUE(c.core.sessions().find(s)) << "the longer call waits for it";
  EXPECT_FALSE(c.reply_to(call));
}

TEST_F(session_by_call, releases_no_value_of_another_session) {
  auto const other = c.open({}, by_call()).id;
  auto const ids = c.append(other, {"f"});
  c.succeed(w, ids[0], "1");
  c.ask(release_values{{}, s, {}, ids});
  auto const v = c.reply_to_event(await_value{{}, ids[0], c.now()});
  EXPECT_EQ(std::get<value_reply>(v.body).data, blob("1"));
}

TEST_F(session_by_call, join_waits_until_nothing_is_left) {
  auto const ids = schedule({"f", "f"});
  auto const call = c.park(join(join_mode::drain));
  c.succeed(w, ids[0]);
  EXPECT_FALSE(c.reply_to(call));
  c.succeed(w, ids[1]);
  EXPECT_TRUE(joined(c.reply_to(call)).done);
  EXPECT_TRUE(joined(c.ask(join(join_mode::drain))).done) << "again, at once";
}

TEST_F(session_by_call, join_has_a_deadline) {
  schedule({"f"});
  auto const call = c.park(join(join_mode::drain, 2s));
  c.advance(3s);
  schedule({"f"});
  EXPECT_FALSE(c.reply_to(call)) << "answered before";
  EXPECT_EQ(c.ask(join(join_mode::drain, 0s))->status.code, code::deadline_exceeded);
}

TEST_F(session_by_call, done_reports_remaining_work_without_waiting) {
  EXPECT_TRUE(joined(c.ask(join(join_mode::settle))).done);
  schedule({"f"});
  EXPECT_FALSE(joined(c.ask(join(join_mode::settle))).done);
}

TEST_F(session_by_call, exactly_one_of_many_callers_receives_the_error) {
  auto const ids = schedule({"f", "f", "f"});
  auto const j1 = c.park(join(join_mode::drain));
  auto const j2 = c.park(join(join_mode::drain));
  c.fail(w, ids[0], "the first");
  EXPECT_FALSE(c.reply_to(j1)) << "a closure of the generation still runs";
  auto const d = c.park(join(join_mode::settle));
  c.fail(w, ids[1], "the second");
  EXPECT_TRUE(joined(c.reply_to(j1)).has_error);
  EXPECT_EQ(joined(c.reply_to(j1)).error.message, "the first");
  EXPECT_FALSE(joined(c.reply_to(j2)).has_error);
  EXPECT_FALSE(joined(c.reply_to(d)).has_error);
  EXPECT_TRUE(c.held(w).empty());
  EXPECT_EQ(c.state(ids[2]), closure_state::cancelled) << "every failure stays readable";
  EXPECT_EQ(c.core.closures().find(ids[1])->error->message, "the second");
}

TEST_F(session_by_call, error_is_kept_until_it_is_collected) {
  auto const ids = schedule({"f"});
  c.fail(w, ids[0], "kept");
  auto const first = joined(c.ask(join(join_mode::settle)));
  EXPECT_EQ(first.error.message, "kept");
  EXPECT_EQ(first.generation, 2u);
  EXPECT_FALSE(joined(c.ask(join(join_mode::settle))).has_error);
}

TEST_F(session_by_call, a_full_queue_refuses) {
  auto spec = by_call();
  spec.queue_capacity = 2;
  auto const small = c.open({}, spec).id;
  EXPECT_EQ(c.status_of(core::schedule{{}, small, c.specs({"g", "g", "g"})}).code,
            code::resource_exhausted);
  EXPECT_TRUE(c.core.has_room(small));
}

TEST_F(session_by_call, stopping_session_rejects_closures) {
  schedule({"f"});
  c.ask(cancel_session{{}, s});
  EXPECT_EQ(c.status_of(core::schedule{{}, s, c.specs({"f"})}).code, code::failed_precondition);
  EXPECT_EQ(c.status_of(resume_session{{}, s, {}}).code, code::failed_precondition);
}

}  // namespace
}  // namespace muster::core
