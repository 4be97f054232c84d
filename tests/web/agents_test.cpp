#include "tests/web/agents.hpp"

#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace {

class agent_tasks : public web_fixture {
 protected:
  void SetUp() override { start({}, {}, 4); }
  std::string const path = "/api/v1/clusters/default/tasks";
};

TEST_F(agent_tasks, workers_and_agents_are_in_one_listing) {
  add_worker(worker::habit::hold, 7);
  agents(core_engine()).join_one(0);
  auto const all = get_json(path);
  ASSERT_EQ(all.at("tasks").as_array().size(), 5u);
  EXPECT_EQ(text_at(all, "/tasks/0/kind"), "worker");
  EXPECT_EQ(number_at(all, "/tasks/0/index"), 7);
  EXPECT_EQ(text_at(all, "/tasks/1/kind"), "agent");
  EXPECT_EQ(text_at(all, "/tasks/1/state"), "REGISTERING");
  EXPECT_EQ(text_at(all, "/tasks/1/incarnation"), "1000");
  EXPECT_EQ(text_at(all, "/tasks/1/host"), "10.0.0.1");
  EXPECT_EQ(text_at(all, "/tasks/1/address"), "10.0.0.1:4711");
  EXPECT_EQ(text_at(all, "/tasks/2/state"), "MISSING");
  EXPECT_TRUE(all.at("tasks").at(2).at("heartbeat_age_ms").is_null());
  auto const cluster = get_json("/api/v1/clusters/default");
  EXPECT_EQ(number_at(cluster, "/tasks/connected"), 1);
  EXPECT_EQ(number_at(cluster, "/tasks/registering"), 1);
  EXPECT_EQ(number_at(cluster, "/tasks/missing"), 3);
  EXPECT_EQ(number_at(cluster, "/generation/agents/missing"), 3);
}

TEST_F(agent_tasks, devices_show_the_names_that_agents_sent) {
  agents a(core_engine());
  a.join(2);
  coordination::wait_for_all_tasks r;
  r.task.index = 0;
  r.devices = {core::blob("x", core::encoding::bytes), core::blob("y", core::encoding::bytes)};
  r.names = {"GPU:0"};
  a.ask(std::move(r));
  auto const shown = get_json(path + "/worker/0");
  EXPECT_EQ(number_at(shown, "/devices"), 2);
  EXPECT_EQ(shown.at("device_names"), boost::json::value({"GPU:0"}));
  EXPECT_FALSE(get_json(path + "/worker/1").as_object().contains("device_names"));
}

TEST_F(agent_tasks, sizes_declared_during_a_run_apply_to_the_next_run) {
  agents a(core_engine());
  a.join(4);
  auto const redeclared = core_engine().run([](engine_services& services) {
    auto const c = *services.coordination.state().find("default");
    auto spec = services.coordination.state().spec(c);
    spec.jobs = {{"worker", 2, false}, {"ps", 1, false}};
    return services.coordination.redeclare(c, spec).ok();
  });
  EXPECT_TRUE(redeclared);
  auto const during = get_json("/api/v1/clusters/default");
  EXPECT_EQ(number_at(during, "/jobs/worker"), 4);
  EXPECT_EQ(number_at(during, "/next_jobs/ps"), 1);
  EXPECT_EQ(text_at(during, "/generation/state"), "RUNNING");
  a.report(1, "out of memory");
  auto after = during;
  auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (after.as_object().contains("next_jobs") && std::chrono::steady_clock::now() < end)
    after = get_json("/api/v1/clusters/default");
  EXPECT_EQ(number_at(after, "/jobs/ps"), 1);
  EXPECT_EQ(text_at(after, "/past/0/cause/message"), "out of memory");
}

TEST_F(agent_tasks, pages_continue_from_workers_to_agents) {
  for (int i = 0; i < 3; ++i) add_worker(worker::habit::hold, 10 + i);
  for (auto const* limit : {"1", "2", "3", "4", "1000"}) {
    std::vector<std::string> kinds;
    std::string token;
    do {
      auto const page = get_json(path + "?limit=" + limit + token);
      for (auto const& t : page.at("tasks").as_array())
        kinds.push_back(text_at(t, "/kind") + std::to_string(number_at(t, "/index")));
      auto const* next = page.as_object().if_contains("next_page_token");
      token = next ? "&page_token=" + std::string(next->as_string()) : "";
    } while (!token.empty());
    EXPECT_EQ(kinds, (std::vector<std::string>{"worker10", "worker11", "worker12", "agent0",
                                               "agent1", "agent2", "agent3"}))
        << limit;
  }
}

TEST_F(agent_tasks, filters_apply_to_both) {
  add_worker(worker::habit::hold, 7);
  agents(core_engine()).join(4);
  EXPECT_EQ(get_json(path + "?state=connected").at("tasks").as_array().size(), 5u);
  EXPECT_EQ(get_json(path + "?state=MISSING").at("tasks").as_array().size(), 0u);
  EXPECT_EQ(get_json(path + "?job=worker").at("tasks").as_array().size(), 5u);
  EXPECT_EQ(get_json(path + "?job=ps").at("tasks").as_array().size(), 0u);
  auto const p = get_json(path + "?state=GONE", 400);
  EXPECT_EQ(text_at(p, "/field"), "state");
  EXPECT_EQ(get("/api/v1/clusters/nope/tasks").status, 404u);
}

TEST_F(agent_tasks, worker_and_agent_can_have_the_same_name) {
  add_worker(worker::habit::hold, 1);
  EXPECT_EQ(text_at(get_json(path + "/worker/1"), "/kind"), "agent");
  EXPECT_EQ(text_at(get_json(path + "/worker/1?kind=agent"), "/state"), "MISSING");
  EXPECT_EQ(text_at(get_json(path + "/worker/1?kind=worker"), "/kind"), "worker");
  EXPECT_EQ(get(path + "/worker/1?kind=other").status, 400u);
  EXPECT_EQ(get(path + "/worker/9").status, 404u);
  EXPECT_EQ(get(path + "/worker/2?kind=worker").status, 404u);
  EXPECT_EQ(get(path + "/nobody/0").status, 404u);
  EXPECT_TRUE(post_json(path + "/worker/1/drain", "").at("draining").as_bool());
  EXPECT_EQ(post(path + "/worker/2/drain").status, 404u);
}

TEST_F(agent_tasks, failed_task_is_distinguished_from_tasks_it_took_down) {
  agents a(core_engine());
  a.join(4);
  a.enter(0, "step");
  a.report(2, "out of memory");
  auto const victim = get_json(path + "/worker/2");
  EXPECT_EQ(text_at(victim, "/state"), "ERROR");
  EXPECT_EQ(text_at(victim, "/error/code"), "INTERNAL");
  EXPECT_NE(text_at(victim, "/error/message").find("out of memory"), std::string::npos);
  EXPECT_FALSE(victim.at("error").at("casualty").as_bool());
}

TEST_F(agent_tasks, metrics_count_agents_by_cluster) {
  agents a(core_engine());
  a.join_one(0);
  a.wait_for_key(1, "k");
  auto const text = get("/metrics").body;
  for (auto const* line : {R"(muster_cluster_agents{cluster="default",state="missing"} 3)",
                           R"(muster_cluster_agents{cluster="default",state="registering"} 1)",
                           R"(muster_cluster_generation{cluster="default"} 1)",
                           R"(muster_cluster_parked_calls{cluster="default",kind="key"} 1)",
                           R"(muster_cluster_parked_calls{cluster="default",kind="other"} 1)"})
    EXPECT_NE(text.find(std::string(line) + "\n"), std::string::npos) << line;
}

class barriers : public web_fixture {
 protected:
  void SetUp() override { start({}, {}, 3); }
  std::string const path = "/api/v1/clusters/default/barriers";
};

TEST_F(barriers, running_barrier_names_missing_tasks) {
  agents a(core_engine());
  a.join(3);
  auto const parked = a.enter(0, "epoch/1 end");
  auto const list = get_json(path);
  ASSERT_EQ(list.at("barriers").as_array().size(), 2u);  // and the registration barrier
  EXPECT_EQ(text_at(list, "/barriers/0/id"), "epoch/1 end");
  EXPECT_EQ(text_at(list, "/barriers/0/state"), "RUNNING");
  EXPECT_EQ(number_at(list, "/barriers/0/arrived_count"), 1);
  EXPECT_EQ(number_at(list, "/barriers/0/missing_count"), 2);
  EXPECT_EQ(text_at(list, "/barriers/1/state"), "PASSED");
  EXPECT_TRUE(list.at("barriers").at(1).at("time_left_ms").is_null());

  auto const one = get_json(path + "/epoch%2F1%20end");
  EXPECT_EQ(json::serialize(one.at("arrived")), R"(["/job:worker/task:0"])");
  ASSERT_EQ(one.at("missing").as_array().size(), 2u);
  EXPECT_EQ(text_at(one, "/missing/1/task"), "/job:worker/task:2");
  EXPECT_EQ(text_at(one, "/missing/1/address"), "10.0.0.3:4711");
  EXPECT_GE(number_at(one, "/missing/1/silent_ms"), 0);
  EXPECT_GT(number_at(one, "/time_left_ms"), 50'000);
  EXPECT_EQ(text_at(get_json("/api/v1/clusters/default/tasks/worker/0"), "/waiting_for/0"),
            "barrier epoch/1 end");
}

TEST_F(barriers, operator_can_cancel_a_running_barrier) {
  agents a(core_engine());
  a.join(3);
  auto const parked = a.enter(0, "a/b");
  auto const cancelled = post_json(path + "/a%2Fb/cancel", "");
  EXPECT_EQ(text_at(cancelled, "/state"), "FAILED");
  EXPECT_EQ(text_at(cancelled, "/error/code"), "CANCELLED");
  EXPECT_EQ(core_engine().run([&](engine_services&) { return (*parked->fault)->code; }),
            muster::code::cancelled);
  auto const again = post_json(path + "/a%2Fb/cancel", "", 409);
  EXPECT_EQ(text_at(again, "/code"), "FAILED_PRECONDITION");
  EXPECT_NE(text_at(again, "/detail").find("already ended"), std::string::npos);
}

TEST_F(agent_tasks, failed_run_reports_its_reason_to_all_agents) {
  agents a(core_engine());
  a.join(4);
  auto const barrier = a.enter(0, "b"), key = a.wait_for_key(1, "k");
  std::string const fail = "/api/v1/clusters/default/fail";
  auto const shown =
      post_json(fail, R"({"message":"the storage is gone","code":"INTERNAL","refuse_calls":true})");
  EXPECT_EQ(text_at(shown, "/generation/state"), "FAILED");
  EXPECT_EQ(text_at(shown, "/generation/cause/message"), "the storage is gone");
  for (auto const& waits : {barrier, key, a.wait_for_key(2, "k")})
    EXPECT_EQ(core_engine().run([&](engine_services&) { return (*waits->fault)->code; }),
              muster::code::internal);
  EXPECT_EQ(text_at(post_json(fail, R"({"message":"again"})", 409), "/code"),
            "FAILED_PRECONDITION");
}

TEST_F(agent_tasks, declared_error_is_a_conflict_and_not_a_server_error) {
  agents a(core_engine());
  a.join(4);
  post_json("/api/v1/clusters/default/fail",
            R"({"message":"the storage is gone","code":"INTERNAL","refuse_calls":true})");
  struct {
    char const *method, *what;
    unsigned status;
  } const calls[] = {{"GET", "kv/k?timeout=1s", 409},
                     {"PUT", "kv/k", 409},
                     {"POST", "barriers/b/wait?task=worker:0&timeout=1s", 503}};
  for (auto const& call : calls) {
    auto const r = send(call.method, std::string("/api/v1/clusters/default/") + call.what);
    EXPECT_EQ(r.status, call.status) << call.what << ": " << r.body;
    auto const body = boost::json::parse(r.body);
    EXPECT_EQ(text_at(body, "/code"), "INTERNAL");
    EXPECT_NE(text_at(body, "/detail").find("the storage is gone"), std::string::npos);
  }
}

TEST_F(agent_tasks, error_of_one_task_is_reported_and_reaches_the_others) {
  agents a(core_engine());
  a.join(4);
  auto const barrier = a.enter(0, "b");
  auto const shown =
      post_json(path + "/worker/1/error", R"({"message":"its GPU is gone","code":"UNAVAILABLE"})");
  EXPECT_EQ(text_at(shown, "/state"), "ERROR");
  EXPECT_EQ(text_at(shown, "/error/code"), "UNAVAILABLE");
  EXPECT_EQ(text_at(shown, "/error/message"), "its GPU is gone");
  EXPECT_TRUE(core_engine().run([&](engine_services&) { return barrier->fault.has_value(); }));
  EXPECT_EQ(text_at(get_json("/api/v1/clusters/default"), "/generation/state"), "FAILED");
  EXPECT_EQ(text_at(post_json(path + "/worker/1/error", R"({"message":"again"})", 409), "/code"),
            "FAILED_PRECONDITION");
}

TEST_F(agent_tasks, invalid_error_report_of_a_task_is_refused_with_the_reason) {
  EXPECT_EQ(text_at(post_json(path + "/worker/1/error", "{}", 400), "/field"), "message");
  EXPECT_EQ(
      text_at(post_json(path + "/worker/1/error", R"({"message":"x","code":"OK"})", 400), "/field"),
      "code");
  post_json(path + "/worker/9/error", R"({"message":"x"})", 404);
  post_json(path + "/worker/1/error", R"({"message":"not connected"})", 409);
}

TEST_F(agent_tasks, invalid_request_to_fail_a_run_names_the_field) {
  std::string const fail = "/api/v1/clusters/default/fail";
  std::string const long_reason(2'001, 'x');
  struct {
    std::string body;
    char const* field;
  } const all[] = {{"{}", "message"},
                   {R"({"message":""})", "message"},
                   {R"({"message":")" + long_reason + R"("})", "message"},
                   {R"({"message":"x","code":"OK"})", "code"},
                   {R"({"message":"x","code":"CANCELLED"})", "code"},
                   {R"({"message":"x","why":1})", "why"}};
  for (auto const& one : all)
    EXPECT_EQ(text_at(post_json(fail, one.body, 400), "/field"), one.field) << one.body;
  EXPECT_EQ(text_at(post_json(fail, R"({"message":"x"})", 409), "/code"), "FAILED_PRECONDITION");
  post_json("/api/v1/clusters/nope/fail", R"({"message":"x"})", 404);
}

TEST_F(barriers, unknown_barriers_are_not_found) {
  EXPECT_EQ(get(path + "/nope").status, 404u);
  EXPECT_EQ(post(path + "/nope/cancel").status, 404u);
  EXPECT_EQ(get("/api/v1/clusters/nope/barriers").status, 404u);
  EXPECT_EQ(get("/api/v1/clusters/nope/barriers/x").status, 404u);
  EXPECT_EQ(post("/api/v1/clusters/nope/barriers/x/cancel").status, 404u);
  EXPECT_EQ(send("DELETE", path + "/nope").status, 405u);
}

TEST_F(barriers, are_listed_in_pages) {
  agents a(core_engine());
  a.join(3);
  for (int i = 0; i < 4; ++i) a.enter(0, "b" + std::to_string(i));
  auto const first = get_json(path + "?limit=3");
  EXPECT_EQ(first.at("barriers").as_array().size(), 3u);
  auto const rest = get_json(path + "?limit=3&page_token=" + text_at(first, "/next_page_token"));
  EXPECT_EQ(rest.at("barriers").as_array().size(), 2u);
  EXPECT_FALSE(rest.as_object().contains("next_page_token"));
  EXPECT_EQ(get(path + "?limit=many").status, 400u);
}

}  // namespace
}  // namespace muster::web::test
