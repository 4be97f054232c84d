#include "server/core/api/id_text.hpp"
#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

session_spec tireless(session_spec s = continue_all()) {
  s.unlimited_worker_failures = true;
  return s;
}

struct exclusive : testing::Test {
  cluster c;

  std::string emptied_for(closure_id id) const {
    EXPECT_EQ(c.why(id).why, closure_reason::exclusive);
    return c.why(id).draining_worker;
  }
  bool is_exclusive(closure_id id) const { return c.core.closures().find(id)->exclusive; }
  closure_spec asking(closure_options o, names const& function = {"f"}) {
    auto work = c.specs(function).front();
    work.extras = std::make_shared<closure_extras>(closure_extras{std::move(o), {}});
    return work;
  }
  /// Attaches workers that are killed by their closures.
  /// @pre No slot is idle, and these workers can run no other queued closure.
  void kill(int workers, joining w = {}) {
    w.index = 9;
    for (int i = 0; i < workers; ++i) c.lose(c.attach(w), "killed");
  }
  closure_id suspect(joining const& w = {}) {
    auto const job = c.open_with(c.specs(w.functions), tireless());
    kill(3, w);
    return job[0];
  }
};

TEST_F(exclusive, closure_runs_alone_after_three_lost_workers) {
  auto const bad = suspect();
  auto const others = c.open(names(5, "f"));
  auto const w = c.attach({.slots = 2, .credits = 8});
  EXPECT_EQ(c.held(w), closures{bad});
  c.wait(3s);
  c.tick();
  EXPECT_EQ(c.held(w), closures{bad});
  auto const why = c.why(bad);
  EXPECT_EQ(why.why, closure_reason::running);
  EXPECT_EQ(why.worker, "worker:0");
  EXPECT_EQ(why.lasted, 3s);
  EXPECT_EQ(why.attempt, 4u);
  EXPECT_EQ(why.workers_lost, 3u);
  EXPECT_EQ(why.lost_worker, "worker:9");
  EXPECT_EQ(why.lost_ago, 3s);
  EXPECT_EQ(why.lost, (attempt_outcome{attempt_end::worker_lost, "killed"}));
  c.succeed(w, bad);
  EXPECT_EQ(c.held(w), (closures{others[0], others[1]})) << "afterwards everything is as before";
  EXPECT_FALSE(is_exclusive(bad));
}

TEST_F(exclusive, session_receives_a_suspect_notice) {
  auto spec = resumable_values(tireless());
  auto const s = c.open({}, spec).id;
  auto const f = c.core.closure_of(s, c.schedule(s, {"f"})[0]);
  kill(2);
  EXPECT_EQ(c.noticed(s), notices{});
  kill(1);
  ASSERT_EQ(c.noticed(s), notices{notice_kind::suspect});
  for (auto const& n : c.fx().notices) {
    EXPECT_EQ(n.closure, f);
    EXPECT_EQ(n.failure.type, "f");
    EXPECT_EQ(n.failure.worker, "worker:9");
    EXPECT_EQ(n.failure.attempt, 3u);
  }
}

TEST_F(exclusive, two_lost_workers_are_not_enough) {
  auto const job = c.open_with(c.specs({"f"}), tireless());
  kill(2);
  auto const w = c.attach({.slots = 2, .credits = 2});
  auto const other = c.open({"f"});
  EXPECT_EQ(c.held(w), (closures{job[0], other[0]}));
  EXPECT_FALSE(is_exclusive(job[0]));
}

TEST_F(exclusive, silence_clean_leaves_and_unknown_functions_are_not_counted) {
  auto const job = c.open_with(c.specs({"f"}), tireless());
  for (int i = 0; i < 3; ++i) {
    c.attach();
    c.advance(16s);
    c.leave(c.attach());
    auto const w = c.attach();
    c.fail(w, job[0], "no such function", failure_kind::stale_handle);
    c.advance(5s);
    c.leave(w);
  }
  c.attach();
  EXPECT_EQ(c.state(job[0]), closure_state::running);
  EXPECT_FALSE(is_exclusive(job[0]));
}

TEST_F(exclusive, start_is_logged_once) {
  auto const job = c.open_with(c.specs({"f"}), tireless());
  kill(2);
  EXPECT_TRUE(c.said().empty());
  kill(1);
  EXPECT_EQ(c.said(),
            (std::vector{log_event{
                log_event_kind::closure_exclusive, text(job[0]),
                "f has lost 3 workers; the last was worker:9. From now on, the closure runs "
                "alone on its worker"}}));
  kill(1);
  EXPECT_TRUE(c.said().empty());
}

TEST_F(exclusive, job_with_a_higher_loss_limit_still_ends_at_that_limit) {
  auto spec = continue_all();
  spec.max_worker_failures = 5;
  auto const job = c.open_with(c.specs({"f"}), spec);
  kill(4);
  EXPECT_TRUE(is_exclusive(job[0]));
  EXPECT_EQ(c.core.overview(c.now()).closures_exclusive, 1u);
  kill(1);
  EXPECT_EQ(c.state(job[0]), closure_state::failed);
  EXPECT_EQ(c.core.overview(c.now()).closures_exclusive, 0u);
}

TEST_F(exclusive, closure_waits_for_an_empty_worker_although_slots_are_idle) {
  auto const w = c.attach({.slots = 2, .credits = 2});
  auto const work = c.open({"f", "f"});
  auto const bad = suspect();
  c.succeed(w, work[0]);
  EXPECT_EQ(c.held(w), closures{work[1]});
  EXPECT_EQ(emptied_for(bad), "") << "no worker is emptied yet";
  EXPECT_EQ(c.why(bad).workers_lost, 3u);
  auto const more = c.open({"f"});
  EXPECT_EQ(c.held(w), (closures{work[1], more[0]})) << "others overtake it";
  c.answer(w, {c.good(w, work[1]), c.good(w, more[0])});
  EXPECT_EQ(c.held(w), closures{bad});
}

TEST_F(exclusive, busy_cluster_empties_a_worker_for_the_closure) {
  auto const w = c.attach({.slots = 2, .credits = 2});
  auto const work = c.open({"f", "f"});
  auto const bad = suspect();
  auto const queued = c.open(names(3, "f"));
  c.advance(900ms);
  c.succeed(w, work[0]);
  ASSERT_EQ(c.held(w), (closures{work[1], queued[0]}));
  c.advance(100ms);
  EXPECT_EQ(emptied_for(bad), "worker:0");
  EXPECT_EQ(c.why(bad).draining_closures, 2u);
  EXPECT_EQ(c.why(bad).lasted, 1s);
  c.succeed(w, work[1]);
  EXPECT_EQ(c.held(w), closures{queued[0]}) << "the slot stays free";
  c.succeed(w, queued[0]);
  EXPECT_EQ(c.held(w), closures{bad});
  c.succeed(w, bad);
  EXPECT_EQ(c.held(w), (closures{queued[1], queued[2]}));
}

TEST_F(exclusive, worker_with_the_newest_work_is_emptied_first_and_later_another) {
  auto const slow = c.attach({.slots = 2, .credits = 2, .index = 0});
  auto const long_ones = c.open({"f", "f"});
  c.advance(1s);
  auto const quick = c.attach({.slots = 2, .credits = 2, .index = 1});
  auto const short_ones = c.open({"f", "f"});
  auto const bad = suspect();
  c.open(names(20, "f"));
  c.advance(1s);
  EXPECT_EQ(emptied_for(bad), "worker:1");
  // Worker 1 was not quick, but worker 0 now has younger closures.
  c.succeed(slow, long_ones[0]);
  c.succeed(slow, long_ones[1]);
  c.advance(1900ms);
  EXPECT_EQ(emptied_for(bad), "worker:1");
  c.advance(100ms);
  EXPECT_EQ(emptied_for(bad), "worker:0");
  c.succeed(quick, short_ones[0]);
  EXPECT_EQ(c.held(quick).size(), 2u) << "this worker serves other closures again";
}

TEST_F(exclusive, another_worker_is_emptied_when_the_first_leaves) {
  auto const a = c.attach({.index = 0});
  c.attach({.index = 1});
  c.open({"f", "f"});
  auto const bad = suspect();
  c.advance(1s);
  ASSERT_EQ(emptied_for(bad), "worker:0");
  c.step(worker_drain{a, false});
  EXPECT_EQ(emptied_for(bad), "worker:1");
  c.lose(a);
  EXPECT_EQ(emptied_for(bad), "worker:1");
}

TEST_F(exclusive, worker_is_not_emptied_for_a_closure_that_has_ended) {
  auto const w = c.attach({.slots = 2, .credits = 2});
  auto const work = c.open({"f", "f"});
  auto const bad = suspect();
  c.advance(1s);
  auto const queued = c.open({"f"});
  c.succeed(w, work[0]);
  ASSERT_EQ(c.held(w), closures{work[1]});
  EXPECT_TRUE(c.status_of(cancel_closure{{}, bad}).ok());
  EXPECT_EQ(c.held(w), (closures{work[1], queued[0]}));
  EXPECT_EQ(c.core.overview(c.now()).closures_exclusive, 0u);
}

TEST_F(exclusive, each_closure_gets_its_own_worker_and_unrunnable_ones_block_nothing) {
  closures nowhere;
  for (int i = 0; i < 40; ++i)
    nowhere.push_back(suspect({.functions = {"gone" + std::to_string(i)}}));
  joining const both_functions{.functions = {"f", "g"}, .slots = 2, .credits = 2};
  auto const w = c.attach(both_functions);
  auto const work = c.open({"f", "f"});
  auto const first = suspect();
  auto const second = suspect({.functions = {"g"}});
  c.open(names(20, "f"));
  for (int i = 0; i < 20 && c.why(first).draining_worker.empty(); ++i) c.advance(1s);
  EXPECT_NE(emptied_for(first), "");
  c.answer(w, {c.good(w, work[0]), c.good(w, work[1])});
  for (auto const id : c.held(w)) c.succeed(w, id);
  auto const other = c.attach(both_functions);
  for (int i = 0; i < 5; ++i) c.tick();
  closures const both{c.held(w).at(0), c.held(other).at(0)};
  EXPECT_TRUE(both == (closures{first, second}) || both == (closures{second, first}));
  EXPECT_EQ(c.held(w).size() + c.held(other).size(), 2u);
}

TEST_F(exclusive, closure_options_still_apply) {
  closure_options o;
  o.resources = {{"gpu", 2}};
  o.labels = {{"zone", "a"}};
  joining const fit{
      .slots = 2, .credits = 2, .index = 9, .labels = {{"zone", "a"}}, .resources = {{"gpu", 2}}};
  auto const job = c.open_with({asking(o)}, tireless());
  kill(3, fit);
  auto const other = c.attach({.slots = 2, .credits = 2, .resources = {{"gpu", 2}}});
  EXPECT_TRUE(c.held(other).empty());
  EXPECT_EQ(c.why(job[0]).lack.value().need,
            (unmet_need{unmet_need::kind::label, "zone", "a", 0, 1}));
  auto const w = c.attach(fit);
  EXPECT_EQ(c.held(w), job.closures);
  auto const wanting = c.open_with({asking(o)});
  EXPECT_TRUE(c.held(other).empty());
  c.succeed(w, job[0]);
  EXPECT_EQ(c.held(w), wanting.closures) << "its resources are free again";
}

TEST_F(exclusive, a_worker_that_has_its_resources_in_use_can_be_kept_empty) {
  closure_options o;
  o.resources = {{"gpu", 1}};
  joining const fit{.slots = 2, .credits = 2, .resources = {{"gpu", 1}}};
  auto const w = c.attach(fit);
  auto const work = c.open_with({asking(o), c.specs({"f"}).front()});
  ASSERT_EQ(c.held(w).size(), 2u);
  auto const job = c.open_with({asking(o)}, tireless());
  kill(3, fit);
  auto const queued = c.open_with({asking(o)});
  c.advance(1s);
  EXPECT_EQ(emptied_for(job[0]), "worker:0");
  c.succeed(w, work[0]);
  EXPECT_EQ(c.held(w), closures{work[1]});
  c.succeed(w, work[1]);
  EXPECT_EQ(c.held(w), job.closures);
  EXPECT_EQ(c.state(queued[0]), closure_state::queued);
}

TEST_F(exclusive, closure_stays_exclusive_while_it_waits_for_a_retry) {
  auto const bad = suspect();
  auto const w = c.attach({.slots = 2, .credits = 2});
  auto failed = c.bad(w, bad, "ps is away", failure_kind::dependency_lost);
  failed.failure->dependencies = {"ps:0"};
  c.answer(w, {failed});
  EXPECT_TRUE(c.held(w).empty());
  EXPECT_EQ(c.why(bad).workers_lost, 3u);
  auto const other = c.open({"f"});
  EXPECT_EQ(c.held(w), other.closures);
  c.advance(200ms);
  EXPECT_EQ(c.held(w), other.closures);
  c.succeed(w, other[0]);
  EXPECT_EQ(c.held(w), closures{bad});
}

TEST_F(exclusive, returning_worker_still_runs_the_closure_alone) {
  auto const bad = suspect();
  joining const same{.slots = 2, .credits = 4, .incarnation = 42};
  auto const w = c.attach(same);
  c.wait(8s);
  c.cut(w);
  auto const others = c.open({"f"});
  c.advance(100ms);
  auto const back = c.come_back(same, {bad});
  EXPECT_EQ(c.held(back), closures{bad});
  EXPECT_EQ(c.state(others[0]), closure_state::queued);
  c.succeed(back, bad);
  EXPECT_EQ(c.held(back), others.closures);
}

TEST_F(exclusive, worker_that_returns_is_not_counted_as_lost) {
  auto const job = c.open_with(c.specs({"f"}), tireless());
  kill(2);
  joining const same{.incarnation = 42};
  auto const w = c.attach(same);
  c.cut(w);
  c.advance(10ms);  // it ran too briefly for a grace period
  ASSERT_TRUE(is_exclusive(job[0]));
  c.attach(same);
  EXPECT_FALSE(is_exclusive(job[0])) << "only two, after all";
  EXPECT_EQ(c.state(job[0]), closure_state::running);
  EXPECT_EQ(c.core.overview(c.now()).closures_exclusive, 0u);
}

TEST_F(exclusive, worker_gets_other_closures_once_its_closure_is_not_exclusive) {
  auto const job = c.open_with(c.specs({"f"}), tireless());
  kill(2);
  joining const same{.index = 5, .incarnation = 42};
  auto const w = c.attach(same);
  c.cut(w);
  c.advance(10ms);
  auto const elsewhere = c.attach({.slots = 2, .credits = 2, .index = 6});
  ASSERT_EQ(c.held(elsewhere), job.closures);
  auto const others = c.open(names(2, "f"));
  ASSERT_EQ(c.held(elsewhere), job.closures);
  auto const back = c.attach(same);
  EXPECT_EQ(c.held(elsewhere), (closures{job[0], others[0]}));
  EXPECT_EQ(c.held(back), closures{others[1]});
}

TEST_F(exclusive, builds_wait_until_the_closure_has_ended) {
  auto const bad = suspect();
  auto const w = c.attach({.functions = {"f", "make"}, .slots = 2, .credits = 4});
  create_per_worker e;
  e.function = c.function("make");
  EXPECT_TRUE(c.reply_to_event(std::move(e)).status.ok());
  EXPECT_EQ(c.held(w), closures{bad});
  c.succeed(w, bad);
  EXPECT_EQ(c.held(w).size(), 1u) << "the build";
}

TEST_F(exclusive, draining_worker_finishes_the_closure) {
  auto const bad = suspect();
  auto const w = c.attach({.slots = 2, .credits = 2});
  c.step(worker_drain{w, false});
  EXPECT_EQ(c.held(w), closures{bad});
  c.succeed(w, bad);
  EXPECT_EQ(c.state(bad), closure_state::succeeded);
}

TEST_F(exclusive, gangs_and_exclusive_closures_do_not_block_each_other) {
  auto const w = c.attach({.slots = 2, .credits = 2});
  auto const work = c.open({"f", "f"});
  auto const bad = suspect();
  closure_options o;
  o.gang = "g";
  auto const gang = c.open_with({asking(o), asking(o)});
  c.advance(1s);
  c.succeed(w, work[0]);
  c.succeed(w, work[1]);
  EXPECT_EQ(c.held(w), closures{bad}) << "the worker was kept empty for both";
  c.succeed(w, bad);
  EXPECT_EQ(c.held(w), gang.closures);
}

TEST_F(exclusive, overview_lists_the_oldest_closures_until_they_end) {
  closures all;
  names functions;
  for (int i = 0; i < 25; ++i) functions.push_back("f" + std::to_string(i));
  auto const w = c.attach({.functions = functions});
  auto const work = c.open({"f0"});
  for (auto const& f : functions) {
    all.push_back(suspect({.functions = {f}}));
    c.advance(1ms);
  }
  auto v = c.core.overview(c.now());
  EXPECT_EQ(v.closures_exclusive, 25u);
  ASSERT_EQ(v.exclusive.size(), 20u);
  EXPECT_EQ(v.exclusive[19].closure, all[19]);
  EXPECT_EQ(v.exclusive[0].closure, all[0]);
  EXPECT_EQ(v.exclusive[0].job, c.core.closures().find(all[0])->job);
  EXPECT_EQ(v.exclusive[0].function, "f0");
  EXPECT_EQ(v.exclusive[0].workers_lost, 3u);
  EXPECT_EQ(v.exclusive[0].worker, "");
  EXPECT_EQ(v.exclusive[0].since, c.now() - 25ms);
  c.succeed(w, work[0]);
  auto const runs = c.held(w).at(0);
  v = c.core.overview(c.now());
  for (auto const& a : v.exclusive) EXPECT_EQ(a.worker, a.closure == runs ? "worker:0" : "");
  c.succeed(w, runs);
  EXPECT_EQ(c.core.overview(c.now()).closures_exclusive, 24u);
}

}  // namespace
}  // namespace muster::core
