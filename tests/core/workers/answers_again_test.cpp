// Answers repeated because they were not acknowledged.
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "server/core/api/server_wide.hpp"
#include "tests/core/fixture.hpp"

namespace muster::core {
namespace answers_again_cases {

worker_result answered(closure_id id, std::uint32_t attempt = 1, std::string_view value = "7") {
  worker_result r;
  r.closure = id;
  r.attempt = attempt;
  r.value = blob(value);
  return r;
}

struct answers_again : testing::Test {
  cluster c;
  joining const same{.slots = 2, .credits = 4, .incarnation = 42};
  stream_id const w = c.attach(same);

  stream_id come_back(std::vector<worker_result> answers, closures const& held = {}) {
    auto e = c.arrival(same);
    auto const stream = e.stream;
    e.answers = std::move(answers);
    for (auto const id : held) e.held.push_back({id, 1});
    c.step(std::move(e));
    return stream;
  }
};

TEST_F(answers_again, complete_closures_answered_on_the_broken_stream) {
  auto const job = c.open({"f", "f"});
  c.wait(8s);
  c.cut(w);
  auto const back = come_back({answered(job[0])}, {job[1]});
  EXPECT_EQ(c.state(job[0]), closure_state::succeeded);
  EXPECT_EQ(c.core.closures().find(job[0])->data.view(), "7");
  EXPECT_EQ(c.core.closures().find(job[0])->attempts.size(), 1u);
  EXPECT_EQ(c.held(back), (closures{job[1]}));
  EXPECT_EQ(c.fx().welcomes.at(0).kept, (std::vector<std::uint32_t>{0}));
}

TEST_F(answers_again, are_ignored_if_already_accepted_or_unexpected) {
  auto const job = c.open({"f", "f"}, left_open());
  c.succeed(w, job[0], "1");
  c.lose(w);
  auto const other = c.attach({.incarnation = 43});
  ASSERT_EQ(c.held(other), (closures{job[1]}));
  come_back({answered(job[0]), answered(job[1]), answered(closure_id{12345})});
  EXPECT_EQ(c.core.closures().find(job[0])->data.view(), "1");
  EXPECT_EQ(c.state(job[1]), closure_state::running) << "the second attempt of the other closure";
}

TEST_F(answers_again, of_another_attempt_are_ignored) {
  auto const job = c.open({"f"});
  c.wait(8s);
  c.cut(w);
  come_back({answered(job[0], 2)}, {});
  EXPECT_NE(c.state(job[0]), closure_state::succeeded);
}

// Consecutive servers; each starts from the facts of its predecessor.
struct answers_after_restart : testing::Test {
  std::map<session_id, restored_job> facts;
  std::unique_ptr<server_wide> wide;
  std::unique_ptr<coordinator> core;
  std::uint64_t streams = 0;
  std::uint32_t starts = 0;
  function_id f{};

  void start_server() {
    core.reset();
    wide = std::make_unique<server_wide>(start);
    wide->first_generation = 1 + (starts++ << 20);
    wide->last_session = starts * 1000;
    config c;
    c.durable = true;
    core = std::make_unique<coordinator>(c, start, *wide);
    restore_jobs all;
    for (auto& [id, j] : std::exchange(facts, {})) {
      facts.emplace(id, j);
      all.jobs.push_back(std::move(j));
    }
    core->step(start, all);
    learn_functions names{call_id{1}, {"f"}};
    f = std::get<functions_reply>(core->step(start, names).replies.at(0).body).ids.at(0);
  }
  template <class Event>
  effects const& step(Event e) {
    auto const& fx = core->step(start, e);
    for (auto const& said : fx.facts) {
      if (auto const* j = std::get_if<job_fact>(&said)) facts[j->id].job = *j;
      if (auto const* a = std::get_if<accepted_fact>(&said)) facts[a->job].accepted.push_back(*a);
      if (auto const* one = std::get_if<closure_fact>(&said)) {
        auto& known = facts[one->job].closures;
        std::erase_if(known, [&](auto const& k) { return k.order == one->order; });
        known.push_back(*one);
      }
    }
    EXPECT_EQ(core->violated_invariant(), "");
    return fx;
  }
  std::vector<closure_id> submit(std::size_t n, closure_options options = {}) {
    open_session e;
    e.call = call_id{2};
    e.spec.on_error = on_error::continue_all;
    auto const extras = std::make_shared<closure_extras const>(closure_extras{options, {}, {}});
    for (std::size_t i = 0; i < n; ++i) e.closures.push_back({f, 0, 0, blob("[]"), extras});
    auto const reply = step(std::move(e)).replies.at(0);
    return std::get<session_reply>(reply.body).closures;
  }
  effects const& attach(std::vector<worker_result> answers, std::vector<closure_id> held = {},
                        std::uint32_t slots = 1, std::uint32_t gpus = 1) {
    worker_attached e{stream_id{++streams}, {}, {}, std::move(answers)};
    e.spec.functions = {"f"};
    e.spec.slots = slots;
    e.spec.credits = slots;
    e.spec.incarnation = incarnation{9};
    e.spec.resources = {{"gpu", gpus}};
    for (auto const id : held) e.held.push_back({id, 1});
    return step(std::move(e));
  }
  closure_state state(closure_id id) { return core->closures().find(id)->state; }
};

TEST_F(answers_after_restart, closures_answered_after_a_restart_are_not_run_again) {
  start_server();
  auto const job = submit(3);
  start_server();
  auto const& fx = attach({answered(job[0])}, {job[1]}, 2);
  EXPECT_EQ(fx.welcomes.at(0).kept, (std::vector<std::uint32_t>{0}));
  ASSERT_EQ(fx.assignments.size(), 1u);
  EXPECT_EQ(fx.assignments[0].closure, job[2]);
  EXPECT_EQ(state(job[0]), closure_state::succeeded);
  EXPECT_EQ(core->closures().find(job[0])->data.view(), "7");
  EXPECT_EQ(core->closures().find(job[0])->attempts.size(), 1u);
  start_server();
  EXPECT_EQ(state(job[0]), closure_state::succeeded) << "it was stored";
}

TEST_F(answers_after_restart, are_accepted_without_reserving_resources) {
  start_server();
  closure_options gpu;
  gpu.resources = {{"gpu", 1}};
  auto const job = submit(3, gpu);
  start_server();
  attach({answered(job[0]), answered(job[1])}, {job[2]});
  EXPECT_EQ(state(job[0]), closure_state::succeeded);
  EXPECT_EQ(state(job[1]), closure_state::succeeded);
  EXPECT_EQ(state(job[2]), closure_state::running) << "with the only GPU";
}

TEST_F(answers_after_restart, failures_count_as_the_original_attempt) {
  start_server();
  closure_options twice;
  twice.max_retries = 1;
  auto const job = submit(1, twice);
  start_server();
  auto bad = answered(job[0]);
  bad.ok = false;
  bad.value = {};
  bad.failure = {failure_kind::user, "E", "broken", "", "", 0};
  attach({bad});
  EXPECT_EQ(state(job[0]), closure_state::queued);
  EXPECT_EQ(core->closures().find(job[0])->retries, 1u);
  start_server();
  attach({bad});
  EXPECT_FALSE(ended(state(job[0]))) << "that attempt is known to have failed";
  EXPECT_EQ(core->closures().find(job[0])->retries, 1u);
}

TEST_F(answers_after_restart, to_closures_that_were_never_stored_are_ignored) {
  start_server();
  auto const lost = submit(1);
  facts.clear();
  start_server();
  auto const other = submit(1);
  EXPECT_NE(other[0], lost[0]) << "no id is assigned by two processes";
  auto const& fx = attach({answered(lost[0])}, {lost[0]});
  EXPECT_TRUE(fx.welcomes.at(0).kept.empty());
  EXPECT_EQ(state(other[0]), closure_state::running);
  EXPECT_EQ(fx.assignments.at(0).closure, other[0]);
}

// Slots are reused at once, so a million uses are soon reached.
TEST_F(answers_after_restart, reused_slots_never_produce_ids_of_the_next_process) {
  start_server();
  wide->end_generation = wide->first_generation + 3;
  attach({});
  std::vector<closure_id> all;
  for (int i = 0; i < 8; ++i) {
    open_session e;
    e.call = call_id{2};
    e.spec.durable = false;
    e.closures.push_back({f, 0, 0, blob("[]")});
    auto const opened = std::get<session_reply>(step(std::move(e)).replies.at(0).body);
    all.push_back(opened.closures.at(0));
    step(worker_results{stream_id{streams}, {answered(all.back())}, {}, {}});
    step(delete_session{call_id{3}, opened.session});
  }
  for (auto const id : all)
    EXPECT_LT(static_cast<std::uint32_t>(raw(id) >> 32), wide->end_generation);
  EXPECT_EQ(std::set<closure_id>(all.begin(), all.end()).size(), all.size());
}

}  // namespace answers_again_cases
}  // namespace muster::core
