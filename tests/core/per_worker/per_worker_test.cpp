// Per-worker values are ABORTED with their worker and built again before the next use.
#include "tests/core/fixture.hpp"

namespace muster::core {

std::string text(per_worker_id id);  // defined by the coordinator
namespace per_worker_cases {

per_worker_id create(cluster& c, std::string_view builder = "make", session_id owner = {},
                     std::uint64_t token = 0) {
  create_per_worker e;
  e.token = token;
  e.function = c.function(builder);
  e.args = blob("[]");
  e.owner = owner;
  auto const r = c.reply_to_event(std::move(e));
  EXPECT_TRUE(r.status.ok()) << r.status.message;
  return std::get<per_worker_reply>(r.body).id;
}

closure_spec needing(cluster& c, per_worker_id id) {
  auto spec = c.specs({"f"}).front();
  spec.extras = std::make_shared<closure_extras>(closure_extras{{}, {}, {id}});
  return spec;
}

joining builder(std::uint32_t slots = 1, std::uint32_t credits = 4) {
  return {.functions = {"f", "make"}, .slots = slots, .credits = credits};
}

std::vector<value_state> states(cluster const& c, per_worker_id id) {
  std::vector<value_state> all;
  auto const v = c.core.per_worker().find(id).value();
  for (auto const& part : v.components) all.push_back(part.state);
  return all;
}
constexpr auto not_ready = value_state::not_ready;
constexpr auto ready = value_state::ready;
constexpr auto aborted = value_state::aborted;

TEST(per_worker, every_worker_with_the_function_builds_it) {
  cluster c;
  auto const a = c.attach(builder());
  auto const other = c.attach();
  auto const b = c.attach(builder());
  auto const v = create(c);
  ASSERT_EQ(c.fx().assignments.size(), 2u);
  for (auto const& sent : c.fx().assignments) {
    EXPECT_EQ(sent.builds, v);
    EXPECT_EQ(sent.args.view(), "[]");
  }
  EXPECT_TRUE(c.held(other).empty());
  EXPECT_EQ(states(c, v), (std::vector{not_ready, not_ready}));
  c.succeed(a, c.held(a).at(0), "null");
  EXPECT_EQ(states(c, v), (std::vector{ready, not_ready}));
  c.succeed(b, c.held(b).at(0), "null");
  EXPECT_EQ(states(c, v), (std::vector{ready, ready}));
}

TEST(per_worker, shows_the_closure_ahead_in_the_queue_and_the_start_of_the_build) {
  cluster c;
  auto const busy = c.attach(builder(1, 1));
  auto const job = c.open({"f"});
  c.wait(5s);
  auto const v = create(c);
  auto part = c.core.per_worker().find(v)->components.at(0);
  EXPECT_EQ(part.queued_behind, "f");
  EXPECT_EQ(part.since, start + 5s);
  c.wait(60s);
  c.succeed(busy, job[0]);
  c.wait(10s);
  part = c.core.per_worker().find(v)->components.at(0);
  EXPECT_EQ(part.queued_behind, "");
  EXPECT_EQ(part.since, start + 65s);
}

TEST(per_worker, prefetched_build_is_queued_behind_the_running_closure) {
  cluster c;
  c.attach(builder(1, 4));
  c.open({"f"});
  EXPECT_EQ(c.core.per_worker().find(create(c))->components.at(0).queued_behind, "f");
}

TEST(per_worker, only_closures_that_need_the_value_wait_for_it) {
  cluster c;
  auto const w = c.attach(builder(2));
  auto const v = create(c);
  auto const build = c.held(w).at(0);
  auto const job = c.open_with({needing(c, v), c.specs({"f"}).front()});
  EXPECT_EQ(c.held(w), (closures{build, job[1]}));
  EXPECT_EQ(c.why(job[0]).lack.value().need,
            (unmet_need{unmet_need::kind::per_worker, text(v), {}, 0, 1}));
  c.succeed(w, build, "null");
  EXPECT_EQ(c.held(w), (closures{job[1], job[0]}));
  EXPECT_EQ(c.fx().assignments.at(0).extras->per_worker, std::vector{v});
}

TEST(per_worker, is_aborted_with_its_worker_and_rebuilt_before_use) {
  cluster c;
  auto const w = c.attach(builder(1, 1));
  auto const v = create(c);
  c.succeed(w, c.held(w).at(0), "null");
  auto const job = c.open_with({needing(c, v), needing(c, v)});
  EXPECT_EQ(c.held(w), closures{job[0]});
  c.lose(w, "connection lost");
  EXPECT_EQ(states(c, v), std::vector{aborted});
  EXPECT_EQ(c.core.per_worker().find(v)->components.at(0).error->message,
            "worker lost: connection lost");
  auto next = builder(1, 1);
  next.index = 0;
  auto const again = c.attach(next);
  ASSERT_EQ(c.fx().assignments.size(), 1u);
  EXPECT_EQ(c.fx().assignments.at(0).builds, v);
  EXPECT_EQ(states(c, v), std::vector{not_ready});
  c.succeed(again, c.held(again).at(0), "null");
  EXPECT_EQ(c.held(again), closures{job[0]}) << "at the head again";
}

TEST(per_worker, builder_error_fails_no_session) {
  cluster c;
  auto const w = c.attach(builder());
  auto const v = create(c);
  auto const job = c.open({"f"});
  c.fail(w, c.held(w).at(0), "no such file");
  EXPECT_EQ(states(c, v), std::vector{ready});
  EXPECT_EQ(c.core.per_worker().find(v)->components.at(0).error->message, "no such file");
  c.succeed(w, job[0]);
  EXPECT_EQ(c.job(job.id).state, job_state::succeeded);
  // The worker knows that the build failed and answers with INPUT.
  auto const user = c.open_with({needing(c, v)});
  EXPECT_EQ(c.held(w), closures{user[0]});
}

TEST(per_worker, incarnation_that_kept_the_value_does_not_rebuild_it) {
  cluster c;
  auto const w = c.attach(builder());
  auto const v = create(c);
  c.succeed(w, c.held(w).at(0), "null");
  c.lose(w);
  auto next = builder();
  next.index = 0;
  next.per_worker = {v, per_worker_id{99}};
  c.attach(next);
  EXPECT_TRUE(c.fx().assignments.empty());
  EXPECT_EQ(states(c, v), std::vector{ready});
  ASSERT_EQ(c.fx().drop_requests.size(), 1u) << "a value that the server does not have is dropped";
  EXPECT_EQ(c.fx().drop_requests[0].value, per_worker_id{99});
}

TEST(per_worker, builds_come_before_other_closures_and_within_the_credits) {
  cluster c;
  auto const first = create(c);
  std::vector<per_worker_id> more;
  for (int i = 0; i < 5; ++i) more.push_back(create(c));
  c.open({"f"});
  auto const w = c.attach(builder());
  ASSERT_EQ(c.held(w).size(), 4u) << "its credits";
  EXPECT_EQ(c.fx().assignments[0].builds, first);
  for (auto const next : {more[3], more[4], per_worker_id{}}) {
    c.succeed(w, c.held(w).at(0), "null");
    ASSERT_EQ(c.fx().assignments.size(), 1u);
    EXPECT_EQ(c.fx().assignments[0].builds, next);
    if (next == more[4]) c.succeed(w, c.held(w).at(0), "null");
  }
}

TEST(per_worker, released_value_is_kept_while_a_closure_needs_it) {
  cluster c;
  auto const w = c.attach(builder());
  auto const v = create(c);
  c.succeed(w, c.held(w).at(0), "null");
  auto const job = c.open_with({needing(c, v)});
  EXPECT_TRUE(c.status_of(delete_per_worker{{}, v}).ok());
  EXPECT_TRUE(c.fx().drop_requests.empty());
  EXPECT_EQ(c.status_of(open_session{{}, {}, {needing(c, v)}}),
            wrong_field("closures[0].args", text(v) + " was released", 0, code::not_found));
  c.succeed(w, job[0]);
  ASSERT_EQ(c.fx().drop_requests.size(), 1u);
  EXPECT_EQ(c.fx().drop_requests[0].stream, w);
  EXPECT_EQ(c.core.per_worker().find(v).error().message, text(v) + " was released");
}

TEST(per_worker, value_released_during_its_build_is_stopped_and_dropped) {
  cluster c;
  auto const w = c.attach(builder());
  auto const v = create(c);
  auto const build = c.held(w).at(0);
  EXPECT_TRUE(c.status_of(delete_per_worker{{}, v}).ok());
  EXPECT_EQ(c.fx().stop_requests.size(), 1u);
  EXPECT_EQ(c.fx().drop_requests.size(), 1u);
  c.fail(w, build, "stopped", failure_kind::cancelled);
  EXPECT_TRUE(c.held(w).empty());
}

TEST(per_worker, owned_value_is_removed_with_its_session) {
  cluster c;
  auto const s = c.stream();
  auto const v = create(c, "make", s);
  c.step(close_session{s});
  EXPECT_FALSE(c.core.per_worker().find(v).has_value());
}

TEST(per_worker, bad_requests_are_refused) {
  cluster c;
  create_per_worker e;
  e.function = c.function("make");
  e.owner = session_id{77};
  EXPECT_EQ(c.status_of(e).code, code::not_found);
  e.owner = {};
  e.name.assign(257, 'x');
  EXPECT_EQ(c.status_of(e), wrong_field("name", "257 bytes, the limit is 256", 256));
  EXPECT_EQ(c.status_of(delete_per_worker{{}, per_worker_id{5}}).message,
            "there is no " + text(per_worker_id{5}));
  e.name.clear();
  for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(c.status_of(e).ok());
  EXPECT_EQ(c.status_of(e).code, code::resource_exhausted);
}

TEST(per_worker, owner_token_identifies_one_value) {
  cluster c;
  auto const w = c.attach(builder());
  auto const s = c.open({}, resumable_values()).id;
  auto const other = c.open({}, resumable_values()).id;
  auto const v = create(c, "make", s, 1);
  EXPECT_EQ(create(c, "make", s, 1), v);
  EXPECT_TRUE(c.fx().assignments.empty()) << "it is not built twice";
  EXPECT_NE(create(c, "make", s, 2), v);
  EXPECT_NE(create(c, "make", other, 1), v) << "every owner has its own numbers";
  EXPECT_EQ(c.held(w).size(), 3u);
}

TEST(per_worker, only_the_owner_can_release_a_value) {
  cluster c;
  auto const s = c.open({}, resumable_values()).id;
  auto const other = c.open({}, resumable_values()).id;
  auto const v = create(c, "make", s, 1);
  EXPECT_EQ(c.status_of(delete_per_worker{{}, v, other}).code, code::not_found);
  EXPECT_TRUE(c.core.per_worker().find(v));
  EXPECT_EQ(c.status_of(delete_per_worker{{}, v, s}), status{});
  EXPECT_FALSE(c.core.per_worker().find(v));
}

TEST(per_worker, returning_client_keeps_only_listed_values) {
  cluster c;
  auto const w = c.attach(builder());
  auto const s = c.open({}, resumable_values()).id;
  auto const kept = create(c, "make", s, 1);
  auto const unlisted = create(c, "make", s, 2);
  while (!c.held(w).empty()) c.succeed(w, c.held(w).at(0), "null");
  c.step(suspend_session{s});
  EXPECT_TRUE(c.core.per_worker().find(unlisted));
  c.reply_to_event(resume_session{{}, s, {}, {1}});
  EXPECT_TRUE(c.core.per_worker().find(kept));
  EXPECT_FALSE(c.core.per_worker().find(unlisted));
  EXPECT_EQ(c.fx().drop_requests, (std::vector{drop_request{w, unlisted}}));
}

}  // namespace per_worker_cases
}  // namespace muster::core
