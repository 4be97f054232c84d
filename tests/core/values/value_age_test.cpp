#include "tests/core/fixture.hpp"

namespace muster::core {

std::string text(closure_id id);  // defined by the coordinator
std::string text(session_id id);
namespace {

std::string removal_reason(cluster& c, closure_id id) {
  return c.status_of(await_value{{}, id, c.now()}).message;
}
void succeed_all(cluster& c, stream_id w) {
  for (auto const id : c.held(w)) c.succeed(w, id, "\"0123456789\"");
}
closure_id held(cluster& c, session_id s, stream_id w) {
  auto const token = c.schedule(s, {"f"}).at(0);
  auto const id = c.core.closure_of(s, token);
  c.succeed(w, id, "\"0123456789\"");
  return id;
}

TEST(value_age, old_finished_job_is_removed) {
  config settings;
  settings.value_age = 1h;
  settings.heartbeat_timeout = 10h;
  settings.reconnect_grace = {};
  cluster c(settings);
  auto const w = c.attach();
  auto const job = c.open({"f"});
  c.advance(30min);
  succeed_all(c, w);
  c.advance(1h - 1s);
  EXPECT_TRUE(c.core.sessions().find(job.id));
  c.advance(61s);
  c.tick();
  EXPECT_EQ(c.core.sessions().find(job.id).error().message,
            text(job.id) +
                " has ended and was removed, 60 s ago: it was older than --value-age (3600 s)");
  EXPECT_EQ(removal_reason(c, job[0]),
            "the value of " + text(job[0]) +
                " was released 60 s ago: it was older than --value-age (3600 s)");
  EXPECT_EQ(c.past.metrics().values_dropped[static_cast<std::size_t>(release_reason::age)], 1u);
}

TEST(value_age, a_job_that_runs_is_never_too_old) {
  config settings;
  settings.value_age = 1h;
  cluster c(settings);
  auto const job = c.open({"f"});
  c.advance(3h);
  EXPECT_TRUE(c.core.sessions().find(job.id));
}

TEST(value_age, values_of_a_session_expire_one_by_one_and_their_tokens_remain) {
  config settings;
  settings.value_age = 1h;
  settings.heartbeat_timeout = 10h;
  settings.reconnect_grace = {};
  cluster c(settings);
  auto const w = c.attach();
  auto const s = c.open({}, resumable_values()).id;
  auto const a = held(c, s, w);
  c.advance(30min);
  auto const b = held(c, s, w);
  c.advance(30min);
  EXPECT_EQ(
      removal_reason(c, a),
      "the value of " + text(a) + " was released 0 s ago: it was older than --value-age (3600 s)");
  EXPECT_EQ(removal_reason(c, b), "");
  auto again = c.specs({"f"}).front();
  again.token = c.core.closure_of(s, 1) == a ? 1 : 0;
  ASSERT_EQ(again.token, 1u);
  c.step(core::schedule{{}, s, {again}});
  EXPECT_TRUE(c.held(w).empty()) << "it has run once";
  EXPECT_NE(c.core.closures().explain(a, c.now())->released, "");
  c.advance(30min);
  EXPECT_NE(removal_reason(c, b), "");
}

TEST(value_age, missing_input_fails_its_closure_with_the_reason) {
  config settings;
  settings.session_values_max = 1;
  cluster c(settings);
  auto const w = c.attach();
  auto const s = c.open({}, resumable_values()).id;
  auto const a = held(c, s, w);
  held(c, s, w);
  auto spec = c.specs({"f"}).front();
  spec.extras = std::make_shared<closure_extras>(closure_extras{{}, {{a, 0, 1}}, {}});
  auto const job = c.open_with({spec});
  EXPECT_EQ(c.core.closures().find(job[0])->error->message,
            "input: the value of " + text(a) +
                " was released 0 s ago: its session had more values than --session-values-max "
                "(1)");
}

TEST(value_age, bytes_of_a_session_are_limited) {
  config settings;
  settings.session_value_bytes_max = 30;
  cluster c(settings);
  auto const w = c.attach();
  auto const s = c.open({}, resumable_values()).id;
  auto const a = held(c, s, w);
  auto const b = held(c, s, w);
  EXPECT_EQ(removal_reason(c, a), "");
  held(c, s, w);
  EXPECT_EQ(removal_reason(c, a),
            "the value of " + text(a) +
                " was released 0 s ago: the values of its session used more than "
                "--session-value-bytes-max (30 bytes)");
  EXPECT_EQ(removal_reason(c, b), "");
}

TEST(value_age, other_release_reasons_are_reported) {
  config settings;
  settings.finished_jobs_max = 1;
  settings.value_bytes_max = 20;
  cluster c(settings);
  auto const w = c.attach({.credits = 8});
  auto const finish = [&] {
    auto const job = c.open({"f"});
    succeed_all(c, w);
    return job;
  };
  auto const a = finish();
  auto const b = c.open({"f"});
  c.succeed(w, b[0], "1");
  EXPECT_EQ(removal_reason(c, a[0]),
            "the value of " + text(a[0]) +
                " was released 0 s ago: more jobs than --jobs-kept (1) have "
                "finished since");
  c.ask(delete_session{{}, b.id});
  EXPECT_EQ(removal_reason(c, b[0]),
            "the value of " + text(b[0]) + " was released 0 s ago: its job was deleted");
  auto const d = c.open({"f", "f"});
  succeed_all(c, w);
  succeed_all(c, w);
  EXPECT_EQ(removal_reason(c, d[1]),
            "the value of " + text(d[1]) +
                " was released 0 s ago: values used more memory than --value-bytes-max (20 "
                "bytes); a server with --spill-dir would have kept it on disk");
}

}  // namespace
}  // namespace muster::core
