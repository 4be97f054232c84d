#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace {

class jobs : public web_fixture {
 protected:
  void SetUp() override { start(); }
};

TEST_F(jobs, a_job_is_created_with_its_closures) {
  auto const r = post("/api/v1/jobs", R"({"name":"n","closures":[
      {"function":"muster.echo","args":[1]},{"function":"muster.echo"}],"metadata":{"k":[1]}})");
  ASSERT_EQ(r.status, 201u) << r.body;
  auto const v = json::parse(r.body);
  auto const id = text_at(v, "/id");
  EXPECT_EQ(r.header("Location"), "/api/v1/jobs/" + id);
  EXPECT_EQ(text_at(v, "/state"), "QUEUED");
  EXPECT_EQ(number_at(v, "/counts/queued"), 2);
  ASSERT_EQ(v.at("closures").as_array().size(), 2u);
  EXPECT_EQ(text_at(v, "/closures/0/id").substr(3),
            text_at(v, "/closures/0/remote_value").substr(3));

  auto const job = get_json("/api/v1/jobs/" + id);
  EXPECT_EQ(text_at(job, "/name"), "n");
  EXPECT_EQ(text_at(job, "/on_error"), "fail_fast");
  EXPECT_EQ(number_at(job, "/finished_ms"), 0);
  EXPECT_GT(number_at(job, "/created_ms"), 1'600'000'000'000);
  EXPECT_EQ(job.at("metadata"), (json::value{{"k", {1}}}));
}

TEST_F(jobs, closure_shows_its_options) {
  auto const r = post("/api/v1/jobs", R"({"closures":[{"function":"muster.echo",
      "options":{"priority":7,"delay":"1m"}}]})");
  auto const v = get_json("/api/v1/closures/" + text_at(json::parse(r.body), "/closures/0/id"));
  EXPECT_EQ(number_at(v, "/priority"), 7);
  EXPECT_GT(number_at(v, "/start_ms"), number_at(v, "/created_ms"));
}

TEST_F(jobs, each_cluster_has_its_own_jobs) {
  auto const none = post("/api/v1/jobs", R"({"cluster":"train","closures":[{"function":"f"}]})");
  EXPECT_EQ(none.status, 404u) << none.body;
  EXPECT_EQ(text_at(json::parse(none.body), "/field"), "cluster");
  ASSERT_EQ(post("/api/v1/clusters", R"({"name":"train"})").status, 201u);
  auto const r = post("/api/v1/jobs", R"({"cluster":"train","closures":[{"function":"f"}]})");
  ASSERT_EQ(r.status, 201u) << r.body;
  auto const id = text_at(json::parse(r.body), "/id");
  EXPECT_EQ(text_at(get_json("/api/v1/jobs/" + id), "/cluster"), "train");
  EXPECT_EQ(get_json("/api/v1/jobs").at("jobs").as_array().size(), 0u);
  EXPECT_EQ(text_at(get_json("/api/v1/jobs?cluster=train"), "/jobs/0/id"), id);
  EXPECT_EQ(number_at(get_json("/api/v1/overview?cluster=train"), "/closures/queued"), 1);
  EXPECT_EQ(number_at(get_json("/api/v1/overview?cluster=default"), "/closures/queued"), 0);
  EXPECT_EQ(number_at(get_json("/api/v1/overview"), "/closures/queued"), 1) << "of the server";
  EXPECT_EQ(get("/api/v1/jobs?cluster=moon").status, 404u);

  auto const kept = post("/api/v1/per_worker_values", R"({"function":"f","cluster":"train"})");
  EXPECT_EQ(text_at(json::parse(kept.body), "/cluster"), "train");
  EXPECT_EQ(get_json("/api/v1/per_worker_values").at("per_worker_values").as_array().size(), 0u);
  EXPECT_EQ(text_at(get_json("/api/v1/functions?cluster=train"), "/functions/0/name"), "f");

  auto const refused = send("DELETE", "/api/v1/clusters/train");
  EXPECT_EQ(refused.status, 409u);
  EXPECT_NE(refused.body.find("has 1 unfinished job or session;"), std::string::npos)
      << refused.body;
  EXPECT_EQ(send("DELETE", "/api/v1/clusters/train?force=true").status, 204u);
  EXPECT_EQ(get("/api/v1/jobs/" + id).status, 404u);
}

TEST_F(jobs, per_worker_value_shows_what_delays_its_build) {
  add_worker(worker::habit::hold, 0, 1);
  submit(1);
  auto const made = post("/api/v1/per_worker_values", R"({"function":"muster.echo"})");
  ASSERT_EQ(made.status, 201u) << made.body;
  auto const v = get_json("/api/v1/per_worker_values/" + text_at(json::parse(made.body), "/id"));
  EXPECT_EQ(text_at(v, "/components/0/status"), "NOT_READY");
  EXPECT_EQ(text_at(v, "/components/0/queued_behind"), "muster.echo");
}

TEST_F(jobs, second_submission_with_the_same_key_returns_the_first_job) {
  auto const body = R"({"closures":[{"function":"muster.echo"}],"idempotency_key":"once"})";
  auto const first = post("/api/v1/jobs", body), second = post("/api/v1/jobs", body);
  EXPECT_EQ(first.status, 201u);
  EXPECT_EQ(second.status, 200u);
  EXPECT_EQ(json::parse(first.body).at("id"), json::parse(second.body).at("id"));
  EXPECT_EQ(json::parse(second.body).at("closures").as_array().size(), 1u);
}

TEST_F(jobs, workers_run_a_job_and_join_reports_the_end) {
  add_worker(worker::habit::echo);
  auto const id = text_at(submit(100), "/id");
  auto const v = get_json("/api/v1/jobs/" + id + "/join?timeout=10s");
  EXPECT_TRUE(v.at("done").as_bool());
  EXPECT_EQ(text_at(v, "/state"), "SUCCEEDED");
  EXPECT_EQ(number_at(v, "/counts/succeeded"), 100);
  EXPECT_FALSE(v.as_object().contains("error"));
}

TEST_F(jobs, join_waits_for_the_end) {
  auto& w = add_worker(worker::habit::hold);
  auto const id = text_at(submit(1), "/id");
  std::thread finisher([&] {
    EXPECT_TRUE(eventually([&] {
      return core_engine().run(
                 [](server::hub& h) { return h.state().overview(h.now()).parked_calls; }) == 1;
    }));
    w.finish_all("7");
  });
  auto const v = get_json("/api/v1/jobs/" + id + "/join");
  finisher.join();
  EXPECT_TRUE(v.at("done").as_bool());
}

TEST_F(jobs, join_returns_at_its_timeout) {
  auto const id = text_at(submit(1), "/id");
  for (auto const* timeout : {"0", "20ms"}) {
    auto const v = get_json("/api/v1/jobs/" + id + "/join?timeout=" + timeout);
    EXPECT_FALSE(v.at("done").as_bool());
    EXPECT_EQ(text_at(v, "/state"), "QUEUED");
  }
}

TEST_F(jobs, join_of_a_disconnected_client_is_dropped) {
  auto const id = text_at(submit(1), "/id");
  auto const parked = [&] {
    return core_engine().run(
        [](server::hub& h) { return h.state().overview(h.now()).parked_calls; });
  };
  raw_socket s(port());
  s.send("GET /api/v1/jobs/" + id + "/join?timeout=5m HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_TRUE(eventually([&] { return parked() == 1; }));
  s.close();
  EXPECT_TRUE(eventually([&] { return parked() == 0; }));
}

TEST_F(jobs, failed_job_shows_its_first_error) {
  auto& w = add_worker(worker::habit::hold);
  auto const id = text_at(submit(3), "/id");
  w.fail_all("no such file");
  auto const v = get_json("/api/v1/jobs/" + id + "/join?timeout=10s");
  EXPECT_EQ(text_at(v, "/state"), "FAILED");
  EXPECT_EQ(text_at(v, "/error/kind"), "USER");
  EXPECT_EQ(text_at(v, "/error/message"), "no such file");
  EXPECT_EQ(text_at(v, "/error/type"), "ValueError");
}

TEST_F(jobs, jobs_are_listed_newest_first_in_pages) {
  for (int i = 0; i < 5; ++i) submit(1);
  std::vector<std::string> seen;
  std::string page;
  do {
    auto const v = get_json("/api/v1/jobs?limit=2" + page);
    for (auto const& j : v.at("jobs").as_array()) seen.push_back(text_at(j, "/id"));
    auto const* next = v.as_object().if_contains("next_page_token");
    page = next ? "&page_token=" + std::string(next->as_string()) : "";
  } while (!page.empty());
  ASSERT_EQ(seen.size(), 5u);
  EXPECT_TRUE(std::is_sorted(seen.rbegin(), seen.rend()));
}

TEST_F(jobs, open_job_ends_once_it_is_sealed) {
  auto const id = text_at(post_json("/api/v1/jobs", R"({"open":true})", 201), "/id");
  auto const sealed = post_json("/api/v1/jobs/" + id + "/seal", "");
  EXPECT_FALSE(sealed.at("open").as_bool());
  EXPECT_EQ(text_at(get_json("/api/v1/jobs/" + id + "/join?timeout=5s"), "/state"), "SUCCEEDED");
}

TEST_F(jobs, cancelled_job_has_the_state_cancelled) {
  auto const id = text_at(submit(3), "/id");
  post_json("/api/v1/jobs/" + id + "/cancel", "");
  auto const v = get_json("/api/v1/jobs/" + id + "/join?timeout=5s");
  EXPECT_EQ(text_at(v, "/state"), "CANCELLED");
  EXPECT_EQ(number_at(v, "/counts/cancelled"), 3);
}

TEST_F(jobs, finished_job_can_be_deleted_but_a_running_one_cannot) {
  auto const id = text_at(submit(1), "/id");
  auto const early = send("DELETE", "/api/v1/jobs/" + id);
  EXPECT_EQ(early.status, 409u) << early.body;
  EXPECT_EQ(text_at(json::parse(early.body), "/code"), "FAILED_PRECONDITION");
  post("/api/v1/jobs/" + id + "/cancel");
  auto const done = send("DELETE", "/api/v1/jobs/" + id);
  EXPECT_EQ(done.status, 204u);
  EXPECT_EQ(done.body, "");
  EXPECT_EQ(get("/api/v1/jobs/" + id).status, 404u);
}

TEST_F(jobs, unknown_job_gives_404_for_every_method) {
  for (std::string const id : {"job_00000000000000ff", "job_x", "nonsense"}) {
    auto const path = "/api/v1/jobs/" + id;
    for (auto const* sub : {"", "/join", "/closures", "/results"}) {
      auto const r = get(path + sub);
      EXPECT_EQ(r.status, 404u) << path << sub << r.body;
      EXPECT_EQ(r.header("Content-Type"), "application/problem+json");
      EXPECT_NE(text_at(json::parse(r.body), "/detail").find(id), std::string::npos);
    }
    for (auto const* sub : {"/seal", "/cancel"}) EXPECT_EQ(post(path + sub).status, 404u);
    EXPECT_EQ(post(path + "/closures", "[]").status, 404u);
    EXPECT_EQ(send("DELETE", path).status, 404u);
  }
}

TEST_F(jobs, a_hundred_thousand_closures_are_submitted_at_once) {
  auto const v = submit(100'000);
  EXPECT_EQ(number_at(v, "/counts/queued"), 100'000);
  EXPECT_EQ(v.at("closures").as_array().size(), 100'000u);
}

class full_queue : public web_fixture {};

TEST_F(full_queue, is_answered_429_with_retry_after) {
  core::config config;
  config.queue_capacity = 10;
  start({}, config);
  auto const id = text_at(submit(5, R"(,"open":true)"), "/id");
  auto const r = post("/api/v1/jobs/" + id + "/closures",
                      R"([{"function":"f"},{"function":"f"},{"function":"f"},
                          {"function":"f"},{"function":"f"},{"function":"f"}])");
  EXPECT_EQ(r.status, 429u) << r.body;
  EXPECT_NE(r.header("Retry-After"), "");
  EXPECT_EQ(text_at(json::parse(r.body), "/code"), "RESOURCE_EXHAUSTED");
  EXPECT_EQ(number_at(get_json("/api/v1/jobs/" + id), "/counts/total"), 5);
}

}  // namespace
}  // namespace muster::web::test
