#include "server/core/texts/explanation_texts.hpp"
#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

TEST(job, ids_are_given_in_order_and_closures_in_schedule_order) {
  cluster c;
  auto const a = c.open({"f", "f"});
  auto const b = c.open({"f"});
  EXPECT_EQ(a.id, session_id{1});
  EXPECT_EQ(b.id, session_id{2});
  EXPECT_EQ(c.core.closures().find(a[1])->index, 1u);
  EXPECT_EQ(c.core.closures().find(b[0])->job, b.id);
}

TEST(job, without_closures_has_succeeded_at_once) {
  cluster c;
  auto const job = c.open({});
  EXPECT_EQ(c.job(job.id).state, job_state::succeeded);
  EXPECT_FALSE(c.job(job.id).open);
}

TEST(job, open_job_runs_until_it_is_sealed) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open({"f"}, left_open());
  c.succeed(w, job[0]);
  EXPECT_EQ(c.job(job.id).state, job_state::running);
  EXPECT_TRUE(c.job(job.id).open);
  auto const more = c.append(job.id, {"f", "f"});
  EXPECT_EQ(c.core.closures().find(more[0])->index, 1u);
  EXPECT_EQ(c.status_of(seal_session{{}, job.id}), status{});
  EXPECT_FALSE(c.job(job.id).open);
  c.succeed(w, more[0]);
  EXPECT_EQ(c.job(job.id).state, job_state::running);
  c.succeed(w, more[1]);
  EXPECT_EQ(c.job(job.id).state, job_state::succeeded);
}

TEST(job, is_queued_until_a_worker_gets_its_first_closure) {
  cluster c;
  auto const job = c.open({"f"}, left_open());
  EXPECT_EQ(c.job(job.id).state, job_state::queued);
  EXPECT_EQ(c.core.overview(c.now()).jobs_queued, 1u);
  EXPECT_EQ(c.core.overview(c.now()).jobs_running, 0u);
  auto const w = c.attach();
  EXPECT_EQ(c.job(job.id).state, job_state::running);
  EXPECT_EQ(c.core.overview(c.now()).jobs_queued, 0u);
  EXPECT_EQ(c.core.overview(c.now()).jobs_running, 1u);
  ASSERT_FALSE(c.fx().changes.sessions.empty());
  EXPECT_EQ(c.fx().changes.sessions.back().state, job_state::running);
  c.lose(w);
  EXPECT_EQ(c.job(job.id).state, job_state::running) << "it has started";
}

TEST(job, cancelled_before_its_start_counts_only_as_cancelled) {
  cluster c;
  auto const job = c.open({"f"});
  c.ask(cancel_session{{}, job.id});
  EXPECT_EQ(c.job(job.id).state, job_state::cancelled);
  auto const v = c.core.overview(c.now());
  EXPECT_EQ(v.jobs_queued, 0u);
  EXPECT_EQ(v.jobs_running, 0u);
  EXPECT_EQ(v.jobs_cancelled, 1u);
}

TEST(job, sessions_of_clients_are_never_queued) {
  cluster c;
  EXPECT_EQ(c.job(c.stream()).state, job_state::running);
}

TEST(job, sealing_an_empty_job_ends_it) {
  cluster c;
  auto const job = c.open({}, left_open());
  EXPECT_EQ(c.job(job.id).state, job_state::queued);
  EXPECT_EQ(c.status_of(seal_session{{}, job.id}), status{});
  EXPECT_EQ(c.job(job.id).state, job_state::succeeded);
  EXPECT_EQ(c.status_of(seal_session{{}, job.id}), status{}) << "repeating it is no error";
}

TEST(job, sealed_job_rejects_more_closures) {
  cluster c;
  auto const job = c.open({"f"});
  EXPECT_EQ(c.status_of(schedule{{}, job.id, c.specs({"f"})}),
            (status{code::failed_precondition,
                    "job_0000000000000001 is sealed and accepts no more closures"}));
  EXPECT_EQ(c.job(job.id).counts.total(), 1u);
}

TEST(job, ended_or_ending_job_rejects_more_closures) {
  cluster c;
  status const ended{code::failed_precondition,
                     "job_0000000000000001 has ended and accepts no more closures"};
  auto const w = c.attach();
  auto const job = c.open({"f"}, left_open());
  c.ask(cancel_session{{}, job.id});
  EXPECT_EQ(c.status_of(schedule{{}, job.id, c.specs({"f"})}), ended);
  c.succeed(w, job[0]);
  EXPECT_EQ(c.status_of(schedule{{}, job.id, c.specs({"f"})}), ended);
}

TEST(job, unknown_and_removed_ids_get_different_errors) {
  cluster c;
  auto const job = c.open({});
  c.ask(delete_session{{}, job.id});
  status const forgotten{code::not_found,
                         "job_0000000000000001 has ended and was removed, 0 s ago: its job "
                         "was deleted"};
  status const unknown{code::not_found, "there is no job_0000000000000002"};
  for (auto const& [id, expected] : {std::pair{job.id, forgotten}, {session_id{2}, unknown}}) {
    EXPECT_EQ(c.status_of(schedule{{}, id, {}}), expected);
    EXPECT_EQ(c.status_of(seal_session{{}, id}), expected);
    EXPECT_EQ(c.status_of(cancel_session{{}, id}), expected);
    EXPECT_EQ(c.status_of(delete_session{{}, id}), expected);
    EXPECT_EQ(c.status_of(join_session{{}, id, never}), expected);
    EXPECT_EQ(c.core.sessions().find(id).error(), expected);
    EXPECT_EQ(c.core.closures().list(id, 0, 10).error(), expected);
  }
  EXPECT_EQ(c.core.sessions().find(session_id{}).error().message,
            "there is no job_0000000000000000");
}

TEST(job, unknown_functions_are_refused_with_their_position_and_nothing_is_scheduled) {
  cluster c;
  auto bad = c.specs({"f", "f"});
  bad[1].function = function_id{77};
  auto const expected = wrong_field("closures[1].function", "unknown function number");
  EXPECT_EQ(c.status_of(open_session{{}, {}, bad}), expected);
  EXPECT_TRUE(c.core.sessions().list({}, 10).items.empty());
  auto const job = c.open({}, left_open());
  EXPECT_EQ(job.id, session_id{1}) << "a refused job uses up no id";
  EXPECT_EQ(c.status_of(schedule{{}, job.id, bad}), expected);
  EXPECT_EQ(c.job(job.id).counts.total(), 0u);
}

TEST(job, can_require_that_a_worker_has_the_function) {
  cluster c;
  auto picky = left_open();
  picky.require_function = true;
  auto const refused = wrong_field("closures[0].function", text_of_missing_function("f"), 0,
                                   code::failed_precondition);
  EXPECT_EQ(c.status_of(open_session{{}, picky, c.specs({"f"})}), refused);
  auto const w = c.attach();
  auto const job = c.open({"f"}, picky);
  EXPECT_EQ(c.state(job[0]), closure_state::running);
  c.lose(w);
  EXPECT_EQ(c.status_of(schedule{{}, job.id, c.specs({"f"})}), refused);
}

TEST(job, the_same_idempotency_key_finds_the_same_job) {
  cluster c;
  auto spec = left_open();
  spec.idempotency_key = "once";
  auto const job = c.open({"f", "f"}, spec);
  auto const again = c.reply_to_event(open_session{{}, spec, c.specs({"g"})});
  EXPECT_EQ(again.status, status{});
  EXPECT_EQ(std::get<session_reply>(again.body), (session_reply{job.id, false, job.closures}));
  EXPECT_EQ(c.job(job.id).counts.total(), 2u);
  spec.idempotency_key = "twice";
  EXPECT_NE(c.open({}, spec).id, job.id);
}

TEST(job, a_different_request_with_a_used_idempotency_key_is_refused) {
  cluster c;
  auto spec = left_open();
  spec.idempotency_key = "once";
  spec.request_digest = "one";
  auto const job = c.open({"f"}, spec);
  EXPECT_EQ(c.status_of(open_session{{}, spec, c.specs({"f"})}), status{});
  spec.request_digest = "two";
  auto const refused = c.status_of(open_session{{}, spec, c.specs({"f"})});
  EXPECT_EQ(refused.code, code::invalid_argument);
  EXPECT_EQ(refused.field, "idempotency_key");
  EXPECT_EQ(c.job(job.id).counts.total(), 1u);
  spec.request_digest.clear();
  EXPECT_EQ(c.status_of(open_session{{}, spec, c.specs({"f"})}), status{})
      << "requests without a digest, as from older servers, are not compared";
}

TEST(job, an_idempotency_key_is_free_again_when_its_job_is_forgotten) {
  cluster c;
  auto spec = fail_fast();
  spec.idempotency_key = "once";
  auto const job = c.open({}, spec);
  EXPECT_EQ(c.open({}, spec).id, job.id) << "a finished job is still found";
  c.ask(delete_session{{}, job.id});
  auto const fresh = c.reply_to_event(open_session{{}, spec, {}});
  EXPECT_TRUE(std::get<session_reply>(fresh.body).created);
  EXPECT_EQ(c.open({}, spec).id, std::get<session_reply>(fresh.body).session)
      << "it is found again";
}

TEST(job, failure_in_one_session_does_not_affect_another) {
  cluster c;
  auto const w = c.attach({.slots = 2, .credits = 2});
  auto const bad = c.open({"f", "f"});
  auto const good = c.open({"f"});
  c.fail(w, bad[0]);
  EXPECT_EQ(c.job(good.id).state, job_state::running);
  c.succeed(w, good[0]);
  EXPECT_EQ(c.job(good.id).state, job_state::succeeded);
}

}  // namespace
}  // namespace muster::core
