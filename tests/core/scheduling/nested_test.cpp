#include "tests/core/fixture.hpp"

namespace muster::core {
namespace nested_cases {

names many(std::size_t n) {
  return names(n, "f");
}

struct nested : testing::Test {
  cluster c;
  joining const same{.slots = 1, .credits = 4, .incarnation = 42};
  stream_id w = c.attach(same);

  void say(stream_id on, closure_id id, bool begins) {
    worker_results e{on, {}, {}, {}, {}};
    e.waits.push_back({id, c.watch().attempt(id), begins});
    c.step(e);
  }
  void wait(closure_id id) { say(w, id, true); }
  void resume(closure_id id) { say(w, id, false); }
  stream_id come_back(std::vector<std::pair<closure_id, bool>> const& held) {
    auto e = c.arrival(same);
    for (auto const& [id, waits] : held) e.held.push_back({id, c.watch().attempt(id), waits});
    auto const stream = e.stream;
    c.step(std::move(e));
    return stream;
  }
};

TEST_F(nested, worker_receives_the_limit_of_waiting_closures) {
  c.attach({.slots = 2, .credits = 9});
  EXPECT_EQ(c.fx().welcomes.at(0).nested_max, 7u);
}

TEST_F(nested, waiting_closure_frees_its_slot_and_stays_running) {
  auto const job = c.open(many(3));
  EXPECT_EQ(c.held(w), closures({job[0]}));
  wait(job[0]);
  EXPECT_EQ(c.sent(w), closures({job[1]}));
  EXPECT_EQ(c.state(job[0]), closure_state::running);
  EXPECT_EQ(c.state(job[1]), closure_state::running);
  EXPECT_EQ(c.state(job[2]), closure_state::queued);
  EXPECT_EQ(c.task(0).slots, 1u);
  EXPECT_EQ(c.task(0).running, 1u);
  EXPECT_EQ(c.task(0).waiting, 1u);
  EXPECT_TRUE(c.core.closures().explain(job[0], c.now())->waits);
}

TEST_F(nested, ten_levels_run_on_one_slot) {
  joining const deep{.functions = {"g"}, .slots = 1, .credits = 16, .job = "deep"};
  w = c.attach(deep);
  std::vector<closure_id> chain;
  for (int depth = 0; depth < 10; ++depth) {
    chain.push_back(c.open({"g"})[0]);
    ASSERT_EQ(c.sent(w), closures({chain.back()}));
    if (depth < 9) wait(chain.back());
  }
  while (!chain.empty()) {
    c.succeed(w, chain.back());
    EXPECT_EQ(c.core.closures().find(chain.back())->state, closure_state::succeeded);
    chain.pop_back();
    if (!chain.empty()) resume(chain.back());
  }
  EXPECT_EQ(c.core.workers().find("deep", 0)->waiting, 0u);
}

TEST_F(nested, resumed_closure_runs_at_once_and_nothing_is_sent_until_a_slot_is_free) {
  auto const job = c.open(many(4));
  wait(job[0]);
  resume(job[0]);
  EXPECT_EQ(c.task(0).running, 2u);
  EXPECT_EQ(c.task(0).waiting, 0u);
  c.wait(10s);  // long closures: none is prefetched
  c.succeed(w, job[0]);
  EXPECT_EQ(c.sent(w), closures());
  c.succeed(w, job[1]);
  EXPECT_EQ(c.sent(w), closures({job[2]}));
}

TEST_F(nested, an_answer_ends_the_wait) {
  auto const job = c.open(many(3));
  wait(job[0]);
  c.wait(10s);
  c.succeed(w, job[0]);
  EXPECT_EQ(c.task(0).waiting, 0u);
  EXPECT_EQ(c.held(w), closures({job[1]}));
  resume(job[0]);  // too late
  EXPECT_TRUE(c.fx().disconnects.empty());
}

TEST_F(nested, resources_stay_taken) {
  c.leave(w);
  w = c.attach({.slots = 1, .credits = 4, .resources = {{"gpu", 1}}});
  auto specs = c.specs(many(3));
  closure_options gpu;
  gpu.resources = {{"gpu", 1}};
  for (int i = 0; i < 2; ++i) {
    auto extras = std::make_shared<closure_extras>();
    extras->options = gpu;
    specs[static_cast<std::size_t>(i)].extras = std::move(extras);
  }
  auto const job = c.open_with(std::move(specs));
  ASSERT_EQ(c.held(w), closures({job[0]}));
  wait(job[0]);
  EXPECT_EQ(c.sent(w), closures({job[2]}));
  EXPECT_EQ(c.state(job[1]), closure_state::queued);
}

TEST_F(nested, too_many_waits_break_the_protocol) {
  auto const job = c.open(many(5));
  for (std::size_t i = 0; i < 3; ++i) wait(job[i]);
  EXPECT_EQ(c.held(w).size(), 4u);
  wait(job[3]);
  ASSERT_EQ(c.fx().disconnects.size(), 1u);
  EXPECT_EQ(c.fx().disconnects[0].status.code, code::invalid_argument);
  EXPECT_NE(
      c.fx().disconnects[0].status.message.find("the limit of waiting closures (nested_max), 3"),
      std::string::npos);
}

TEST_F(nested, waiting_closure_of_a_lost_worker_is_not_blamed) {
  auto s = continue_all();
  s.max_worker_failures = 1;
  auto const job = c.open(many(2), s);
  wait(job[0]);
  c.lose(w);
  EXPECT_EQ(c.state(job[0]), closure_state::queued);
  EXPECT_EQ(c.state(job[1]), closure_state::failed);
}

TEST_F(nested, closure_still_waits_after_a_reconnect) {
  auto const job = c.open(many(4));
  wait(job[0]);
  c.wait(8s);
  c.cut(w);
  c.advance(1s);
  w = come_back({{job[0], true}, {job[1], false}});
  EXPECT_EQ(c.held(w), closures({job[0], job[1]}));
  EXPECT_EQ(c.task(0).waiting, 1u);
  EXPECT_EQ(c.task(0).running, 1u);
  EXPECT_EQ(c.sent(w), closures());
  c.succeed(w, job[1]);
  EXPECT_EQ(c.sent(w), closures({job[2]}));
}

TEST_F(nested, closure_can_resume_during_a_disconnect) {
  auto const job = c.open(many(3));
  wait(job[0]);
  c.wait(8s);
  c.cut(w);
  w = come_back({{job[0], false}, {job[1], false}});
  EXPECT_EQ(c.task(0).waiting, 0u);
  EXPECT_EQ(c.held(w).size(), 2u);
  c.answer(w, {c.good(w, job[0]), c.good(w, job[1])});
  EXPECT_EQ(c.sent(w), closures({job[2]}));
}

TEST_F(nested, closure_beyond_the_slots_still_runs_after_a_reconnect) {
  auto const job = c.open(many(2));
  wait(job[0]);
  worker_results begun{w, {}, {}, {}, {}};
  begun.started.push_back({job[1], c.watch().attempt(job[1]), {}});
  c.step(begun);
  resume(job[0]);
  ASSERT_EQ(c.task(0).running, 2u);
  for (int i = 0; i < 2; ++i) {
    c.wait(8s);
    c.cut(w);
    EXPECT_EQ(c.state(job[0]), closure_state::running);
    EXPECT_EQ(c.state(job[1]), closure_state::running)
        << "it also waits for the return of its worker";
    w = come_back({{job[0], false}, {job[1], false}});
    EXPECT_EQ(c.task(0).running, 2u);
  }
  c.answer(w, {c.good(w, job[0]), c.good(w, job[1])});
  EXPECT_EQ(c.job(job.id).state, job_state::succeeded);
}

TEST_F(nested, an_answer_makes_room_for_a_wait_in_the_same_message) {
  c.leave(w);
  w = c.attach({.slots = 1, .credits = 2, .index = 0});
  auto const job = c.open(many(3));
  wait(job[0]);
  worker_results both{w, {c.good(w, job[0])}, {}, {}, {}};
  both.waits.push_back({job[1], c.watch().attempt(job[1]), true});
  c.step(both);
  EXPECT_TRUE(c.fx().disconnects.empty());
  EXPECT_EQ(c.state(job[0]), closure_state::succeeded);
  EXPECT_EQ(c.task(0).waiting, 1u);
  EXPECT_EQ(c.sent(w), closures({job[2]}));
}

TEST_F(nested, nothing_is_prefetched_to_a_worker_with_a_waiting_closure) {
  c.leave(w);
  w = c.attach({.slots = 1, .credits = 8, .index = 0});
  auto const warm = c.open(many(20));  // quick answers widen its window
  for (auto const id : warm.closures) c.succeed(w, id);
  auto const job = c.open(many(9));
  ASSERT_EQ(c.held(w).size(), 8u);
  wait(job[0]);
  EXPECT_EQ(c.task(0).running, 1u);
  // Includes the closure in its slot, which may not have started.
  ASSERT_EQ(c.fx().retractions.size(), 7u);
  worker_results back{w, {}, {}, {}, {}};
  for (auto const& r : c.fx().retractions) back.returned.push_back({r.closure, r.attempt});
  c.step(back);
  EXPECT_EQ(c.held(w), closures({job[0], job[1]}));
  c.succeed(w, job[1]);
  EXPECT_EQ(c.sent(w), closures({job[2]}));
}

TEST_F(nested, draining_worker_finishes_waiting_closures_and_receives_none) {
  auto const job = c.open(many(2));
  c.step(worker_drain{w, true});
  wait(job[0]);
  EXPECT_EQ(c.sent(w), closures());
  auto const other = c.attach({.slots = 1, .credits = 4, .index = 7});
  EXPECT_EQ(c.sent(other), closures({job[1]}));
  c.succeed(w, job[0]);
  EXPECT_EQ(c.state(job[0]), closure_state::succeeded);
}

TEST_F(nested, cancelled_job_stops_waiting_closures) {
  auto const job = c.open(many(1));
  wait(job[0]);
  c.ask(cancel_session{{}, job.id});
  ASSERT_EQ(c.fx().stop_requests.size(), 1u);
  EXPECT_EQ(c.fx().stop_requests[0].closure, job[0]);
}

}  // namespace nested_cases
}  // namespace muster::core
