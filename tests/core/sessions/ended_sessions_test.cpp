#include "server/core/api/id_text.hpp"
#include "server/history/closures.hpp"
#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

session_id ended(cluster& c, stream_id w) {
  auto const s = c.stream();
  c.schedule(s, {"f"});
  c.succeed(w, c.held(w).at(0));
  c.step(close_session{s});
  return s;
}

std::vector<session_id> listed(cluster const& c) {
  std::vector<session_id> ids;
  for (auto const& j : c.core.sessions().list({}, 100).items) ids.push_back(j.id);
  return ids;
}

TEST(ended_sessions, ended_session_remains_visible) {
  cluster c;
  auto const w = c.attach();
  auto const s = c.stream();
  c.schedule(s, {"f"});
  auto const id = c.held(w).at(0);
  c.succeed(w, id);
  c.wait(2s);
  c.step(close_session{s});
  EXPECT_TRUE(c.fx().released.empty());
  auto const v = c.job(s);
  EXPECT_EQ(v.state, job_state::succeeded);
  EXPECT_TRUE(v.streaming);
  EXPECT_FALSE(v.open);
  EXPECT_EQ(v.finished, start + 2s);
  EXPECT_EQ(v.counts.succeeded, 1u);
  EXPECT_EQ(listed(c), std::vector{s});
  EXPECT_EQ(history::explain(c.past, c.core, id, c.now(), s)->why, closure_reason::succeeded);
  EXPECT_EQ(history::explain(c.past, c.core, id, c.now(), s)->worker, "worker:0");
  EXPECT_EQ(c.core.overview(c.now()).sessions, 0u);
}

TEST(ended_sessions, held_values_become_rows) {
  cluster c;
  auto const w = c.attach();
  auto const s = c.open({}, resumable_values(continue_all())).id;
  c.schedule(s, {"f", "f", "f"});
  c.succeed(w, c.held(w).at(0));
  auto const failed = c.held(w).at(0);
  c.fail(w, failed, "no such file");
  c.step(close_session{s});
  auto const running = c.held(w).at(0);
  EXPECT_EQ(c.job(s).state, job_state::running) << "one closure still runs";
  c.fail(w, running, "cancelled", failure_kind::cancelled);
  auto const v = c.job(s);
  EXPECT_EQ(v.state, job_state::failed);
  EXPECT_EQ(v.error->message, "no such file");
  EXPECT_EQ(v.value_bytes, 0u);
  EXPECT_EQ(v.held, 0u);
  EXPECT_EQ(history::closure(c.past, c.core, failed, s)->error->message, "no such file");
  EXPECT_FALSE(history::closure(c.past, c.core, running, s))
      << "closures that the client left behind are not reported";
}

TEST(ended_sessions, raised_error_of_a_generation_remains_visible) {
  cluster c;
  auto const w = c.attach();
  auto const s = c.open({}, resumable_values()).id;
  c.schedule(s, {"f"});
  c.fail(w, c.held(w).at(0), "no such file");
  EXPECT_EQ(c.job(s).generation, 2u);
  c.step(close_session{s});
  EXPECT_EQ(c.job(s).state, job_state::failed);
  EXPECT_EQ(c.job(s).error->message, "no such file");
}

TEST(ended_sessions, unfinished_work_makes_the_session_cancelled) {
  cluster c;
  auto const s = c.stream();
  c.schedule(s, {"f"});
  c.step(close_session{s});
  EXPECT_EQ(c.job(s).state, job_state::cancelled);
}

TEST(ended_sessions, session_without_closures_is_removed_at_once) {
  cluster c;
  auto const s = c.stream();
  c.step(close_session{s});
  EXPECT_EQ(c.fx().released, std::vector{s});
  EXPECT_FALSE(c.core.sessions().find(s));
}

TEST(ended_sessions, ended_session_rejects_every_request) {
  cluster c;
  auto const w = c.attach();
  auto const s = c.open({}, by_call()).id;
  c.append(s, {"f"});
  c.succeed(w, c.held(w).at(0));
  c.step(close_session{s});
  status const gone{code::not_found, text(s) + " has ended"};
  EXPECT_EQ(c.status_of(schedule{{}, s, c.specs({"f"})}), gone);
  EXPECT_EQ(c.status_of(join_session{{}, s, never, join_mode::drain}), gone);
  EXPECT_EQ(c.status_of(cancel_session{{}, s}), gone);
  EXPECT_EQ(c.status_of(seal_session{{}, s}), gone);
  EXPECT_EQ(c.status_of(resume_session{{}, s, {}, {}, {}}), gone);
  EXPECT_EQ(c.status_of(release_values{{}, s, {}, {}}), gone);
  c.step(close_session{s});
  EXPECT_EQ(c.job(s).state, job_state::succeeded);
  EXPECT_TRUE(c.status_of(join_session{{}, s, never}).ok()) << "an observer also receives the end";
}

TEST(ended_sessions, session_that_ended_first_is_removed_beyond_the_limit) {
  config small;
  small.ended_sessions_max = 2;
  cluster c(small);
  auto const w = c.attach();
  auto const a = ended(c, w), b = ended(c, w);
  EXPECT_EQ(listed(c), (std::vector{b, a}));
  auto const d = ended(c, w);
  EXPECT_EQ(c.fx().released, std::vector{a});
  EXPECT_EQ(listed(c), (std::vector{d, b}));
  EXPECT_EQ(c.core.sessions().find(a).error(),
            (status{code::not_found, text(a) + " has ended and was removed"}));
}

TEST(ended_sessions, old_session_is_removed) {
  config small;
  small.ended_session_age = 60s;
  cluster c(small);
  auto const s = ended(c, c.attach());
  c.advance(59s);
  EXPECT_EQ(listed(c), std::vector{s});
  c.advance(2s);
  EXPECT_TRUE(listed(c).empty());
}

TEST(ended_sessions, limit_of_zero_keeps_no_sessions) {
  for (bool const by_age : {false, true}) {
    config none;
    if (by_age)
      none.ended_session_age = {};
    else
      none.ended_sessions_max = 0;
    cluster c(none);
    auto const s = ended(c, c.attach());
    EXPECT_EQ(c.fx().released, std::vector{s});
    EXPECT_TRUE(listed(c).empty());
  }
}

TEST(ended_sessions, ended_sessions_are_evicted_before_finished_jobs) {
  config small;
  small.sessions_max = 2;
  cluster c(small);
  auto const w = c.attach();
  auto const job = c.open({"f"});
  c.succeed(w, job[0]);
  auto const s = ended(c, w);
  c.stream();
  EXPECT_FALSE(c.core.sessions().find(s));
  EXPECT_TRUE(c.core.sessions().find(job.id));
}

TEST(ended_sessions, ended_session_can_be_deleted) {
  cluster c;
  auto const s = ended(c, c.attach());
  EXPECT_TRUE(c.status_of(delete_session{{}, s}).ok());
  EXPECT_EQ(c.fx().released, std::vector{s});
  EXPECT_TRUE(listed(c).empty());
}

TEST(ended_sessions, rows_of_all_stay_within_their_bytes) {
  config small;
  small.session_rows_bytes_max = 64'000;
  cluster c(small);
  auto const w = c.attach();
  for (int i = 0; i < 50; ++i) ended(c, w);
  EXPECT_EQ(listed(c).size(), 50u);
  EXPECT_LE(c.core.overview(c.now()).session_rows_bytes, 64'000u);
}

}  // namespace
}  // namespace muster::core
