#include <future>

#include "tests/web/rest/worker_fixture.hpp"

namespace muster::web::test {
namespace task_stack_cases {

struct asked_worker : server::hub_worker {
  void on_stack_query(std::uint64_t number) override { queries.push_back(number); }
  std::vector<std::uint64_t> queries;
};

struct rest_task_stacks : worker_fixture<asked_worker> {
  std::string closure;

  void submit() {
    auto const job =
        text_at(post_json("/api/v1/jobs", R"({"closures":[{"function":"f"}]})", 201), "/id");
    closure = text_at(get_json("/api/v1/jobs/" + job + "/closures"), "/closures/0/id");
  }
  std::future<json::value> ask(std::string path) {
    return std::async(std::launch::async, [this, path] { return get_json(path); });
  }
  std::uint64_t await_question() {
    for (;;) {
      auto const all = core_engine().run([this](server::hub&) { return w.queries; });
      if (!all.empty()) return all.back();
    }
  }
  static std::string path() { return "/api/v1/clusters/default/tasks/worker/0/stacks"; }
};

TEST_F(rest_task_stacks, include_the_running_closures_of_the_worker) {
  start_with_worker();
  submit();
  for (auto const& from : {path(), "/api/v1/closures/" + closure + "/stacks"}) {
    auto asked = ask(from);
    auto const q = await_question();
    core_engine().run([&](server::hub& h) {
      w.queries.clear();
      h.workers().task_stacks().deliver(
          w.stream, q, server::task_stack{core::stack_state::taken, "line 4", "S in poll", 70});
    });
    auto const all = asked.get();
    EXPECT_EQ(text_at(all, "/worker"), "worker:0");
    EXPECT_EQ(text_at(all, "/state"), "TAKEN");
    EXPECT_EQ(text_at(all, "/stack"), "line 4");
    EXPECT_EQ(text_at(all, "/process"), "S in poll");
    EXPECT_EQ(all.at("pid"), 70);
    EXPECT_EQ(text_at(all, "/closures/0/id"), closure);
  }
}

TEST_F(rest_task_stacks, unresponsive_worker_times_out) {
  start_with_worker();
  EXPECT_EQ(text_at(get_json(path()), "/state"), "NO_ANSWER");
}

TEST_F(rest_task_stacks, missing_stacks_are_reported_with_the_reason) {
  start_with_worker();
  EXPECT_EQ(get("/api/v1/clusters/default/tasks/worker/1/stacks").status, 404u);
  EXPECT_EQ(get("/api/v1/clusters/none/tasks/worker/0/stacks").status, 404u);
  EXPECT_EQ(get("/api/v1/closures/cl_00000000000000ff/stacks").status, 404u);
  EXPECT_EQ(get("/api/v1/closures/x/stacks").status, 404u);
  submit();
  for (auto const& from : {path(), "/api/v1/closures/" + closure + "/stacks"}) {
    auto asked = std::async(std::launch::async, [&] { return get(from).status; });
    auto const q = await_question();
    core_engine().run([&](server::hub& h) {
      w.queries.clear();
      h.workers().task_stacks().deliver(w.stream, q,
                                        muster::status{muster::code::resource_exhausted, "busy"});
    });
    EXPECT_EQ(asked.get(), 429u);
  }
  core_engine().run([&](server::hub& h) { w.succeed(h); });
  auto const ended = get("/api/v1/closures/" + closure + "/stacks");
  EXPECT_EQ(ended.status, 409u);
  EXPECT_NE(ended.body.find("is not running; its state is SUCCEEDED"), std::string::npos)
      << ended.body;
}

}  // namespace task_stack_cases
}  // namespace muster::web::test
