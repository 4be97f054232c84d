#include "tests/web/agents.hpp"
#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace {

class barrier_wait : public web_fixture {
 protected:
  void SetUp() override { start({}, {}, 3); }
  std::string const path = "/api/v1/clusters/default/barriers";
  std::string const wait = path + "/b/wait?task=worker:2";

  std::size_t parked() {
    return core_engine().run([](engine_services& services) {
      return services.coordination.state().current(services.endpoints.main()).parked_calls();
    });
  }
  bool has_barrier() { return get(path + "/b").status == 200; }
  bool answered(agents::call const& c) {
    return core_engine().run([&](engine_services&) { return c->fault.has_value(); });
  }
  std::future<http_response> waiting(std::string const& target) {
    return std::async(std::launch::async, [url = url(target)] {
      http_client other;
      http_request r;
      r.method = "POST";
      r.url = url;
      auto got = other.send(r);
      return got ? *got : http_response{};
    });
  }
};

TEST_F(barrier_wait, releases_all_when_the_last_participant_arrives) {
  agents a(core_engine());
  auto there = waiting(wait + "&timeout=20s");
  ASSERT_TRUE(eventually([&] { return parked() == 1; }));
  auto const first = a.enter(0, "b"), second = a.enter(1, "b");
  auto const got = there.get();
  EXPECT_EQ(got.status, 200u);
  EXPECT_EQ(got.body, "{\"id\":\"b\",\"counter\":0,\"state\":\"PASSED\"}\n");
  EXPECT_TRUE(answered(first) && answered(second));
  EXPECT_EQ(text_at(get_json("/api/v1/clusters/default/tasks/worker/2"), "/state"), "MISSING");
}

TEST_F(barrier_wait, can_be_limited_to_some_tasks) {
  agents a(core_engine());
  auto there = waiting(wait + "&timeout=20s&participants=worker:2,worker:0");
  ASSERT_TRUE(eventually([&] { return parked() == 1; }));
  EXPECT_EQ(post(path + "/b/wait?task=worker:0&participants=worker:0,worker:2").status, 200u);
  EXPECT_EQ(there.get().status, 200u);
}

TEST_F(barrier_wait, timeout_names_missing_tasks_and_leaves_no_barrier) {
  auto const late = post_json(wait + "&timeout=50ms", "", 504);
  EXPECT_EQ(text_at(late, "/code"), "DEADLINE_EXCEEDED");
  EXPECT_NE(text_at(late, "/detail").find("/job:worker/task:0"), std::string::npos);
  EXPECT_EQ(parked(), 0u);
  EXPECT_FALSE(has_barrier());
}

TEST_F(barrier_wait, ends_with_its_client) {
  raw_socket s(port());
  s.send("POST " + wait + "&timeout=30s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return parked() == 1; }));
  s.close();
  EXPECT_TRUE(eventually([&] { return parked() == 0; }));
  EXPECT_FALSE(has_barrier());
  // The clients that arrive now keep waiting for the task.
  agents a(core_engine());
  auto const first = a.enter(0, "b"), second = a.enter(1, "b");
  raw_socket again(port());
  again.send("POST " + wait +
             "&timeout=30s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
  EXPECT_NE(again.receive_until("PASSED").find("200 OK"), std::string::npos);
  EXPECT_TRUE(answered(first) && answered(second));
}

TEST_F(barrier_wait, invalid_request_names_the_error) {
  struct {
    std::string target;
    unsigned status;
    std::string field;
  } const cases[] = {
      {path + "/b/wait", 400, "task"},
      {path + "/b/wait?task=worker", 400, "task"},
      {path + "/b/wait?task=:1", 400, "task"},
      {path + "/b/wait?task=worker:x", 400, "task"},
      {path + "/b/wait?task=worker:9", 404, "task"},
      {path + "/b/wait?task=ps:0", 404, "task"},
      {wait + "&participants=worker:2,,", 400, "participants"},
      {wait + "&participants=worker:2,worker:7", 404, "participants"},
      {wait + "&timeout=soon", 400, "timeout"},
      {path + "/" + std::string(4'097, 'x') + "/wait?task=worker:2", 400, "id"},
      {path + "/%5BInit%5DWait_for_all_tasks_to_register/wait?task=worker:2", 400, "id"},
  };
  for (auto const& c : cases) {
    auto const p = post_json(c.target, "", c.status);
    EXPECT_EQ(text_at(p, "/field"), c.field) << c.target;
  }
  EXPECT_EQ(post("/api/v1/clusters/nope/barriers/b/wait?task=worker:0").status, 404u);
  EXPECT_EQ(get(wait).status, 405u);
  EXPECT_EQ(post(wait + "&nonsense=1").status, 400u);
}

TEST_F(barrier_wait, refused_wait_is_a_conflict_with_the_reason) {
  agents a(core_engine());
  a.join(3);
  auto const others = a.enter(0, "b");
  auto const p = post_json(wait + "&participants=worker:2,worker:1", "", 409);
  EXPECT_NE(text_at(p, "/detail").find("Conflicting tasks"), std::string::npos);
  EXPECT_FALSE(answered(others));
  auto cancelled = waiting(wait + "&timeout=20s");
  ASSERT_TRUE(eventually([&] { return parked() == 2; }));
  EXPECT_EQ(post(path + "/b/cancel").status, 200u);
  auto const told = cancelled.get();
  EXPECT_EQ(told.status, 409u);
  EXPECT_NE(told.body.find("CANCELLED"), std::string::npos);
  auto broken = waiting(wait + "&timeout=20s");
  ASSERT_TRUE(eventually([&] { return parked() == 1; }));
  a.report(0, "a bad disk");
  auto const failed = broken.get();
  EXPECT_EQ(failed.status, 409u);
  EXPECT_NE(failed.body.find("a bad disk"), std::string::npos) << failed.body;
}

TEST_F(barrier_wait, ends_at_the_timeout_of_an_agent_as_well) {
  agents a(core_engine());
  auto there = waiting(wait + "&timeout=20s");
  ASSERT_TRUE(eventually([&] { return parked() == 1; }));
  a.enter(0, "b", std::chrono::milliseconds(50));
  auto const got = there.get();
  EXPECT_EQ(got.status, 409u);
  EXPECT_NE(got.body.find("DEADLINE_EXCEEDED"), std::string::npos) << got.body;
}

TEST_F(barrier_wait, is_answered_when_the_server_stops) {
  auto there = waiting(wait + "&timeout=20s");
  ASSERT_TRUE(eventually([&] { return parked() == 1; }));
  core_engine().run([](engine_services& services) { services.coordination.stop(); });
  EXPECT_EQ(there.get().status, 409u);
  EXPECT_EQ(post(wait).status, 503u);
}

TEST_F(barrier_wait, wait_beyond_the_limit_of_parked_calls_is_refused) {
  TearDown();
  coordination::limits limits;
  limits.parked_calls_max = 1;
  start({}, {}, 3, limits);
  auto there = waiting(wait + "&timeout=20s");
  ASSERT_TRUE(eventually([&] { return parked() == 1; }));
  auto const p = post_json(path + "/c/wait?task=worker:1", "", 429);
  EXPECT_EQ(text_at(p, "/code"), "RESOURCE_EXHAUSTED");
  EXPECT_EQ(get("/api/v1/clusters/default/kv/k?timeout=1s").status, 429u);
  EXPECT_EQ(post(path + "/b/cancel").status, 200u);
  EXPECT_EQ(there.get().status, 409u);
}

}  // namespace
}  // namespace muster::web::test
