#include "tests/web/agents.hpp"
#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace {

class declare : public web_fixture {
 protected:
  void SetUp() override { start(); }
  std::string refusal(std::string const& body, unsigned status = 400) {
    return text_at(post_json("/api/v1/clusters", body, status), "/detail");
  }
};

TEST_F(declare, a_declared_cluster_has_an_address_and_waits) {
  auto const c = post_json("/api/v1/clusters", R"({
    "name":"train","jobs":{"worker":8,"ps":2},"heartbeat_timeout":"10s","register_timeout":"1m",
    "shutdown_timeout":"0","recoverable":true,"recoverable_jobs":["ps"],"allow_reconnect":true,
    "register_barrier":false,"renew":false,"stuck_after":"5s","type":"standalone","stateful":["ps"]})",
                           201);
  EXPECT_EQ(text_at(c, "/name"), "train");
  EXPECT_EQ(text_at(c, "/address"), "127.0.0.1:9002");
  EXPECT_EQ(json::serialize(c.at("jobs")), R"({"worker":8,"ps":2})");
  EXPECT_EQ(json::serialize(c.at("recoverable_jobs")), R"(["ps"])");
  EXPECT_EQ(json::serialize(c.at("stateful")), R"(["ps"])");
  EXPECT_EQ(number_at(c, "/heartbeat_timeout_ms"), 10'000);
  EXPECT_EQ(number_at(c, "/register_timeout_ms"), 60'000);
  EXPECT_EQ(number_at(c, "/shutdown_timeout_ms"), 0);
  EXPECT_EQ(number_at(c, "/stuck_after_ms"), 5'000);
  EXPECT_TRUE(c.at("recoverable").as_bool() && c.at("allow_reconnect").as_bool());
  EXPECT_FALSE(c.at("register_barrier").as_bool() || c.at("renew").as_bool());
  EXPECT_EQ(number_at(c, "/tasks/missing"), 10);
  EXPECT_EQ(number_at(c, "/tasks/total"), 10);
  EXPECT_EQ(text_at(c, "/generation/state"), "WAITING");
  EXPECT_EQ(number_at(c, "/generation/number"), 1);
  EXPECT_GT(std::stoull(text_at(c, "/generation/incarnation")), 0u);
  EXPECT_TRUE(c.at("past").as_array().empty());
  EXPECT_EQ(get_json("/api/v1/clusters/train/").at("address"), c.at("address"));
}

TEST_F(declare, declared_cluster_can_be_posted_again_unchanged) {
  post_json("/api/v1/clusters", R"({"name":"train","jobs":{"worker":8,"ps":2},
    "heartbeat_timeout":"10s","stuck_after":"5s","recoverable_jobs":["ps"],"stateful":["ps"]})",
            201);
  auto const read = get_json("/api/v1/clusters/train");
  ASSERT_EQ(send("DELETE", "/api/v1/clusters/train").status, 204u);
  auto const again = post_json("/api/v1/clusters", json::serialize(read), 201);
  for (auto const key : {"jobs", "recoverable_jobs", "stateful", "heartbeat_timeout_ms",
                         "connection_grace_ms", "register_timeout_ms", "shutdown_timeout_ms",
                         "stuck_after_ms", "error_delivery", "agents", "type"})
    EXPECT_EQ(again.at(key), read.at(key)) << key;
  EXPECT_NE(refusal(R"({"name":"x","heartbeat_timeout_ms":0})").find("heartbeat_timeout_ms: "),
            std::string::npos);
}

TEST_F(declare, response_contains_the_location_of_the_cluster) {
  auto const r = post("/api/v1/clusters", R"({"name":"a.b","jobs":{"w":1}})");
  EXPECT_EQ(r.status, 201u);
  EXPECT_EQ(r.header("Location"), "/api/v1/clusters/a.b");
}

TEST_F(declare, errors_name_the_field) {
  EXPECT_EQ(refusal(R"({"jobs":{"w":1}})"), "name: missing");
  EXPECT_EQ(refusal(R"({"name":"x","job":{}})"), "job: unknown field");
  EXPECT_NE(refusal(R"({"name":"a b"})").find("name: 'a b' must be"), std::string::npos);
  EXPECT_NE(refusal(R"({"name":"x","jobs":{"w":0}})").find("jobs.w: expected a whole number"),
            std::string::npos);
  EXPECT_EQ(refusal(R"({"name":"x","jobs":{"w":1,"w":2}})"),
            "w: this member is repeated in one JSON object; send it once");
  EXPECT_NE(refusal(R"({"name":"x","jobs":[1]})").find("jobs: expected an object"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"name":"x","heartbeat_timeout":"soon"})").find("expected a duration"),
            std::string::npos);
  EXPECT_EQ(refusal(R"({"name":"x","heartbeat_timeout":"0"})"),
            "heartbeat_timeout: must be positive");
  EXPECT_NE(refusal(R"({"name":"x","jobs":{"w":1},"recoverable_jobs":["v"]})", 422)
                .find("recoverable_jobs[0]: 'v' is not a role of the cluster"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"name":"x","recoverable":1})").find("expected a boolean"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"name":"x","type":"galactic"})").find("standalone"), std::string::npos);
  EXPECT_NE(refusal("[]").find("expected an object"), std::string::npos);
  EXPECT_EQ(post("/api/v1/clusters", "{").status, 400u);
  EXPECT_EQ(post("/api/v1/clusters", "{}", "text/plain").status, 415u);
  auto const p = post_json("/api/v1/clusters", R"({"name":"x","stuck_after":"0"})", 400);
  EXPECT_EQ(text_at(p, "/field"), "stuck_after");
}

TEST_F(declare, name_can_be_declared_once) {
  post_json("/api/v1/clusters", R"({"name":"x","jobs":{"w":1}})", 201);
  auto const p = post_json("/api/v1/clusters", R"({"name":"x","jobs":{"w":1}})", 409);
  EXPECT_EQ(text_at(p, "/code"), "ALREADY_EXISTS");
}

TEST_F(declare, declaration_fails_without_a_free_port) {
  for (auto const* name : {"a", "b", "c"})
    post_json("/api/v1/clusters", R"({"name":")" + std::string(name) + R"("})", 201);
  EXPECT_NE(refusal(R"({"name":"d"})", 429).find("no port"), std::string::npos);
  EXPECT_EQ(get("/api/v1/clusters/d").status, 404u);
}

TEST_F(declare, clusters_are_listed_in_pages) {
  post_json("/api/v1/clusters", R"({"name":"a"})", 201);
  post_json("/api/v1/clusters", R"({"name":"b"})", 201);
  auto const first = get_json("/api/v1/clusters?limit=2");
  ASSERT_EQ(first.at("clusters").as_array().size(), 2u);
  auto const rest =
      get_json("/api/v1/clusters?limit=2&page_token=" + text_at(first, "/next_page_token"));
  ASSERT_EQ(rest.at("clusters").as_array().size(), 1u);
  EXPECT_EQ(text_at(rest, "/clusters/0/name"), "b");
  EXPECT_FALSE(rest.as_object().contains("next_page_token"));
  EXPECT_EQ(get("/api/v1/clusters?limit=0").status, 400u);
  EXPECT_EQ(get("/api/v1/clusters?page_token=x").status, 400u);
  EXPECT_EQ(get("/api/v1/clusters?who=x").status, 400u);
}

TEST_F(declare, deleting_a_cluster_answers_its_parked_calls) {
  post_json("/api/v1/clusters", R"({"name":"a","jobs":{"w":2}})", 201);
  agents a(core_engine(), "a");
  auto const waiting = a.wait_for_key(0, "k");
  EXPECT_EQ(send("DELETE", "/api/v1/clusters/a").status, 204u);
  EXPECT_TRUE(eventually([&] {
    return core_engine().run([&](engine_services&) { return waiting->fault.has_value(); });
  }));
  EXPECT_EQ(get("/api/v1/clusters/a").status, 404u);
  EXPECT_EQ(send("DELETE", "/api/v1/clusters/a").status, 404u);
  post_json("/api/v1/clusters", R"({"name":"a"})", 201);
}

TEST_F(declare, cluster_of_the_main_port_cannot_be_deleted) {
  auto const r = send("DELETE", "/api/v1/clusters/default");
  EXPECT_EQ(r.status, 409u);
  EXPECT_NE(r.body.find("main port"), std::string::npos);
}

TEST_F(declare, failed_run_names_its_first_failure) {
  post_json("/api/v1/clusters", R"({"name":"a","jobs":{"w":2}})", 201);
  agents a(core_engine(), "a");
  a.join(2);
  EXPECT_EQ(text_at(get_json("/api/v1/clusters/a"), "/generation/state"), "RUNNING");
  a.report(1, "GPU fell off the bus");
  auto const failed = get_json("/api/v1/clusters/a");
  EXPECT_EQ(text_at(failed, "/generation/state"), "FAILED");
  EXPECT_EQ(text_at(failed, "/generation/cause/task"), "/job:w/task:1");
  EXPECT_EQ(text_at(failed, "/generation/cause/address"), "10.0.0.2:4711");
  EXPECT_NE(text_at(failed, "/generation/cause/message").find("GPU"), std::string::npos);
  EXPECT_GT(number_at(failed, "/generation/started_ms"), 0);
  coordination::register_task again;
  again.task.index = 0;
  again.incarnation = core::incarnation{7};
  a.ask(again);
  auto const renewed = get_json("/api/v1/clusters/a");
  EXPECT_EQ(number_at(renewed, "/generation/number"), 2);
  ASSERT_EQ(renewed.at("past").as_array().size(), 1u);
  EXPECT_EQ(text_at(renewed, "/past/0/cause/task"), "/job:w/task:1");
  EXPECT_GT(number_at(renewed, "/past/0/ended_ms"), 0);
}

}  // namespace
}  // namespace muster::web::test
