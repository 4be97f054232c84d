#include "tests/core/fixture.hpp"

namespace muster::core {
namespace requirements_cases {

closure_options on_task(std::string job, std::int64_t index = -1) {
  closure_options o;
  o.task_job = std::move(job);
  o.task_index = index;
  return o;
}
closure_options where(std::string key, std::string value) {
  closure_options o;
  o.labels = {{std::move(key), std::move(value)}};
  return o;
}
closure_options taking(std::string resource, std::uint32_t amount = 1) {
  closure_options o;
  o.resources = {{std::move(resource), amount}};
  return o;
}

closure_spec with(cluster& c, closure_options o) {
  auto spec = c.specs({"f"}).front();
  spec.extras = std::make_shared<closure_extras>(closure_extras{std::move(o), {}});
  return spec;
}
/// Returns the unmet requirement.
unmet_need need(cluster& c, closure_id id) {
  EXPECT_EQ(c.why(id).why, closure_reason::unsatisfiable);
  return c.why(id).lack.value().need.value();
}

TEST(affinity, a_closure_waits_for_its_task) {
  cluster c;
  auto const first = c.attach({.slots = 2, .credits = 2});
  auto const job = c.open_with({with(c, on_task("worker", 1)), with(c, {})});
  EXPECT_EQ(c.held(first), closures{job[1]}) << "other closures do not wait behind it";
  EXPECT_EQ(need(c, job[0]), (unmet_need{unmet_need::kind::task, "worker:1", {}, 0, 1}));
  auto const second = c.attach();
  EXPECT_EQ(c.held(second), closures{job[0]});
}

TEST(affinity, affinity_to_a_job_matches_any_of_its_tasks) {
  cluster c;
  c.attach();
  auto const job = c.open_with({with(c, on_task("gpu"))});
  EXPECT_EQ(c.state(job[0]), closure_state::queued);
  auto const gpu = c.attach({.job = "gpu"});
  EXPECT_EQ(c.held(gpu), closures{job[0]});
}

TEST(affinity, closures_wait_for_a_lost_task) {
  cluster c;
  auto const first = c.attach({.index = 0});
  auto const second = c.attach({.index = 1});
  auto const job = c.open_with({with(c, on_task("worker", 1))});
  c.lose(second);
  EXPECT_EQ(c.state(job[0]), closure_state::queued);
  EXPECT_TRUE(c.held(first).empty());
  auto const again = c.attach({.index = 1});
  EXPECT_EQ(c.held(again), closures{job[0]});
}

TEST(labels, all_labels_must_match) {
  cluster c;
  auto o = where("zone", "a");
  o.labels.push_back({"disk", "ssd"});
  auto const job = c.open_with({with(c, o)});
  c.attach({.labels = {{"zone", "a"}}});
  EXPECT_EQ(need(c, job[0]), (unmet_need{unmet_need::kind::label, "disk", "ssd", 0, 1}));
  auto const w = c.attach({.labels = {{"disk", "ssd"}, {"zone", "a"}}});
  EXPECT_EQ(c.held(w), closures{job[0]});
}

TEST(resources, are_held_from_dispatch_to_the_answer) {
  cluster c;
  auto const w = c.attach({.slots = 4, .credits = 4, .resources = {{"gpu", 2}, {"memory", 10}}});
  auto const job = c.open_with({with(c, taking("gpu")), with(c, taking("gpu")),
                                with(c, taking("gpu")), with(c, taking("memory", 10))});
  EXPECT_EQ(c.held(w), (closures{job[0], job[1], job[3]}));
  EXPECT_EQ(need(c, job[2]), (unmet_need{unmet_need::kind::free, "gpu", {}, 1, 1}));
  auto const free = c.task(0).free;
  EXPECT_EQ(free, (std::vector<std::pair<std::string, std::uint32_t>>{{"gpu", 0}, {"memory", 0}}));
  c.succeed(w, job[1]);
  EXPECT_EQ(c.state(job[2]), closure_state::running);
}

TEST(resources, unsatisfiable_request_is_reported) {
  cluster c;
  c.attach({.resources = {{"gpu", 2}}});
  auto const job = c.open_with({with(c, taking("gpu", 3))});
  EXPECT_EQ(need(c, job[0]), (unmet_need{unmet_need::kind::resource, "gpu", {}, 3, 1}));
}

TEST(resources, are_released_after_a_failure_a_retry_and_a_loss) {
  cluster c;
  auto const w = c.attach({.slots = 2, .credits = 2, .resources = {{"gpu", 1}}});
  auto retried = taking("gpu");
  retried.max_retries = 1;
  retried.retry_initial = 1s;
  auto const job = c.open_with({with(c, taking("gpu")), with(c, retried)}, continue_all());
  c.fail(w, job[0]);
  EXPECT_EQ(c.held(w), closures{job[1]});
  c.fail(w, job[1]);
  EXPECT_EQ(c.task(0).free.front().second, 1u) << "while it waits for its retry";
  c.advance(1s);
  EXPECT_EQ(c.held(w), closures{job[1]});
  c.lose(w);
  auto const again = c.attach({.resources = {{"gpu", 1}}});
  EXPECT_EQ(c.held(again), closures{job[1]});
}

TEST(resources, of_a_cancelled_closure_are_released_by_its_answer) {
  cluster c;
  auto const w = c.attach({.slots = 2, .credits = 2, .resources = {{"gpu", 1}}});
  auto const job = c.open_with({with(c, taking("gpu")), with(c, taking("gpu"))}, continue_all());
  c.step(cancel_closure{{}, job[0]});
  EXPECT_EQ(c.state(job[1]), closure_state::queued);
  c.fail(w, job[0], "stopped", failure_kind::cancelled);
  EXPECT_EQ(c.held(w), closures{job[1]});
}

TEST(requirements, priority_and_order_hold_among_runnable_closures) {
  cluster c;
  auto urgent = where("zone", "b");
  urgent.priority = 10;
  auto const job = c.open_with(
      {with(c, where("zone", "a")), with(c, {}), with(c, urgent), with(c, where("zone", "a"))});
  auto const w = c.attach({.slots = 4, .credits = 4, .labels = {{"zone", "a"}}});
  EXPECT_EQ(c.held(w), (closures{job[0], job[1], job[3]}));
  auto const other = c.attach({.labels = {{"zone", "b"}}});
  EXPECT_EQ(c.held(other), closures{job[2]});
}

TEST(requirements, are_forgotten_with_their_job) {
  cluster c;
  auto const w = c.attach({.labels = {{"n", "0"}}});
  for (int i = 0; i < 5'000; ++i) {  // more than the limit
    auto o = where("n", "0");
    o.labels.push_back({"m", std::to_string(i)});
    auto const job = c.open_with({with(c, o)});
    ASSERT_TRUE(c.status_of(cancel_session{{}, job.id}).ok());
    ASSERT_TRUE(c.status_of(delete_session{{}, job.id}).ok());
  }
  auto const job = c.open_with({with(c, where("n", "0"))});
  EXPECT_EQ(c.held(w), closures{job[0]});
}

TEST(requirements, too_many_concurrent_requests_are_refused) {
  cluster c;
  std::vector<closure_spec> specs;
  for (int i = 0; i < 4'097; ++i) specs.push_back(with(c, where("n", std::to_string(i))));
  EXPECT_EQ(
      c.status_of(open_session{{}, {}, specs}),
      wrong_field("options", "the server's jobs have 0 different requirements, the limit is 4096",
                  4096, code::resource_exhausted));
  specs.pop_back();
  auto const job = c.open_with(specs, left_open());
  auto const more = [&](closure_options o) {
    return c.status_of(schedule{{}, job.id, {with(c, std::move(o))}});
  };
  EXPECT_TRUE(more(where("n", "7")).ok()) << "a known requirement is not new";
  EXPECT_EQ(more({}).message,
            "options: more than 4096 combinations of function, priority and requirement in one "
            "job");
}

TEST(requirements, invalid_requirements_are_rejected_by_name) {
  cluster c;
  auto const refused = [&](closure_options o) {
    auto const got = c.status_of(open_session{{}, {}, {with(c, std::move(o))}});
    EXPECT_EQ(got.code, code::invalid_argument);
    return got.message;
  };
  auto o = on_task("", 3);
  EXPECT_EQ(refused(o),
            "closures[0].options.task: must be a task name, such as worker:3, or a job name");
  EXPECT_EQ(refused(taking("gpu", 0)), "closures[0].options.resources: 'gpu' must be at least 1");
  EXPECT_EQ(refused(where("", "a")), "closures[0].options.labels: a name must have 1 to 256 bytes");
  o = {};
  for (int i = 0; i < 65; ++i) o.labels.push_back({"k" + std::to_string(i), "v"});
  EXPECT_EQ(refused(o), "closures[0].options.labels: 65 entries, the limit is 64");
}

}  // namespace requirements_cases
}  // namespace muster::core
