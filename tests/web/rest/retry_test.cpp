#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace {

struct retry : web_fixture {
  std::string failed_job(std::size_t n, std::string const& extra = {}) {
    std::string closures;
    for (std::size_t i = 0; i < n; ++i)
      closures += (i == 0 ? "" : ",") + std::string(R"({"function":"muster.fail","args":[)") +
                  std::to_string(i) + "]}";
    auto const job = post_json(
        "/api/v1/jobs",
        R"({"on_error":"continue","name":"n","closures":[)" + closures + "]" + extra + "}", 201);
    auto const id = text_at(job, "/id");
    get_json("/api/v1/jobs/" + id + "/join?timeout=10s");
    return id;
  }
};

TEST_F(retry, a_failed_job_becomes_a_new_one_with_the_same_closures) {
  start();
  add_worker(worker::habit::fail);
  auto const id = failed_job(2);
  EXPECT_TRUE(get_json("/api/v1/jobs/" + id).at("retryable").as_bool());
  auto const r = post("/api/v1/jobs/" + id + "/retry");
  ASSERT_EQ(r.status, 201u) << r.body;
  auto const fresh = json::parse(r.body);
  EXPECT_EQ(fresh.at("closures").as_array().size(), 2u);
  auto const path = "/api/v1/jobs/" + text_at(fresh, "/id");
  EXPECT_EQ(r.header("Location"), path);
  EXPECT_EQ(text_at(get_json(path), "/retry_of"), id);
  EXPECT_EQ(text_at(get_json(path), "/name"), "n");
  auto const named = post_json("/api/v1/jobs/" + id + "/retry", R"({"name":"again"})", 201);
  EXPECT_EQ(text_at(get_json("/api/v1/jobs/" + text_at(named, "/id")), "/name"), "again");
}

TEST_F(retry, arguments_of_failed_closures_are_shown_while_retryable) {
  start();
  add_worker(worker::habit::fail);
  auto const id = failed_job(1);
  auto const closure = text_at(get_json("/api/v1/jobs/" + id + "/closures"), "/closures/0/id");
  EXPECT_EQ(get_json("/api/v1/closures/" + closure).at("args"), json::array{0});
  auto const again = post_json("/api/v1/jobs/" + id + "/retry", "", 201);
  EXPECT_EQ(get_json("/api/v1/closures/" + text_at(again, "/closures/0/id")).at("args"),
            json::array{0});
}

TEST_F(retry, is_refused_with_the_reason) {
  start();
  auto const running = text_at(submit(1), "/id");
  auto const p = post_json("/api/v1/jobs/" + running + "/retry", "", 409);
  EXPECT_EQ(text_at(p, "/detail"), running + " has not ended");
  post_json("/api/v1/jobs/job_00000000000000ff/retry", "", 404);
  post_json("/api/v1/jobs/nonsense/retry", "", 404);
  auto const bad = post_json("/api/v1/jobs/" + running + "/retry", R"({"name":1})", 400);
  EXPECT_EQ(text_at(bad, "/field"), "name");
  // Few enough characters, but too many bytes.
  std::string name;
  while (name.size() < 300) name += "\u00e4";
  auto const large =
      post_json("/api/v1/jobs/" + running + "/retry", "{\"name\":\"" + name + "\"}", 422);
  EXPECT_EQ(text_at(large, "/field"), "name");
}

TEST_F(retry, missing_arguments_are_reported) {
  core::config config;
  config.retry_bytes_max = 4;
  start({}, config);
  add_worker(worker::habit::fail);
  auto const first = failed_job(1);
  failed_job(1);
  EXPECT_FALSE(get_json("/api/v1/jobs/" + first).at("retryable").as_bool());
  auto const p = post_json("/api/v1/jobs/" + first + "/retry", "", 409);
  EXPECT_NE(text_at(p, "/detail").find("are no longer stored"), std::string::npos);
}

TEST_F(retry, full_server_asks_to_retry_later) {
  core::config config;
  config.closures_max = 1;
  start({}, config);
  add_worker(worker::habit::fail);
  post_json("/api/v1/jobs/" + failed_job(1) + "/retry", "", 429);
}

struct job_list : web_fixture {
  std::size_t found(std::string const& query) {
    return get_json("/api/v1/jobs?" + query).at("jobs").as_array().size();
  }
};

TEST_F(job_list, is_filtered_by_state_kind_and_text) {
  start();
  submit(1, R"(,"name":"Nightly")");
  auto const cancelled = text_at(submit(1), "/id");
  post_json("/api/v1/jobs/" + cancelled + "/cancel", "");
  core_engine().run([](server::hub& h) {
    core::open_session open;
    open.spec.delivery = core::delivery::unary;
    open.client = "ipv4:10.0.0.7:51234";
    h.ask(std::move(open), [](core::reply const& r) { EXPECT_TRUE(r.status.ok()); });
  });
  EXPECT_EQ(found(""), 3u);
  EXPECT_EQ(found("state=RUNNING"), 1u) << "the session";
  EXPECT_EQ(found("state=QUEUED"), 1u);
  EXPECT_EQ(found("state=unfinished"), 2u);
  EXPECT_EQ(found("state=cancelled"), 1u);
  EXPECT_EQ(found("streaming=true"), 1u);
  EXPECT_EQ(found("streaming=false"), 2u);
  EXPECT_EQ(found("q=night"), 1u);
  EXPECT_EQ(found("q=" + cancelled), 1u);
  EXPECT_EQ(found("q=nothing"), 0u);
  EXPECT_EQ(get("/api/v1/jobs?state=ODD").status, 400u);
  auto const counts = get_json("/api/v1/jobs?state=FAILED&q=nothing").at("counts");
  EXPECT_EQ(number_at(counts, "/jobs/queued"), 1) << "counts are of all jobs, not of the filter";
  EXPECT_EQ(number_at(counts, "/jobs/cancelled"), 1);
  EXPECT_EQ(number_at(counts, "/jobs/failed"), 0);
  EXPECT_EQ(number_at(counts, "/sessions/running"), 1);
  auto const streams = get_json("/api/v1/jobs?streaming=true");
  EXPECT_EQ(text_at(streams, "/jobs/0/client"), "ipv4:10.0.0.7:51234");
}

TEST_F(job_list, search_continues_over_several_engine_steps) {
  start();
  submit(1, R"(,"name":"the first")");
  core_engine().run([](server::hub& h) {
    for (int i = 0; i < 4'500; ++i) {
      core::open_session open;
      h.ask(std::move(open), [](core::reply const&) {});
    }
  });
  EXPECT_EQ(found("q=the%20first"), 1u);
}

struct waiting : web_fixture {};

TEST_F(waiting, waiting_gangs_show_the_reason) {
  start();
  add_worker(worker::habit::hold, 0, 1);
  auto const job = post_json("/api/v1/jobs", R"({"closures":[
      {"function":"muster.echo","options":{"gang":"g"}},
      {"function":"muster.echo","options":{"gang":"g"}}]})",
                             201);
  auto const all = get_json("/api/v1/gangs");
  ASSERT_EQ(all.at("gangs").as_array().size(), 1u);
  EXPECT_EQ(text_at(all, "/gangs/0/job"), text_at(job, "/id"));
  EXPECT_EQ(text_at(all, "/gangs/0/gang"), "g");
  EXPECT_EQ(number_at(all, "/gangs/0/size"), 2);
  EXPECT_EQ(number_at(all, "/gangs/0/here"), 2);
  EXPECT_EQ(text_at(all, "/gangs/0/first"), text_at(job, "/closures/0/id"));
  auto const member = get_json("/api/v1/closures/" + text_at(job, "/closures/0/id"));
  EXPECT_EQ(text_at(member, "/gang"), "g");
  EXPECT_EQ(
      text_at(all, "/gangs/0/why"),
      "the connected workers have no room for the 2 closures of gang 'g' at the same time, even "
      "when idle");
  EXPECT_EQ(number_at(all, "/more"), 0);
  // The gang's members count as waiting, not as queued.
  for (auto const* path : {"/api/v1/functions", "/api/v1/overview"}) {
    auto const told = get_json(path);
    EXPECT_EQ(text_at(told, "/functions/0/name"), "muster.echo") << path;
    EXPECT_EQ(number_at(told, "/functions/0/waiting"), 2) << path;
    EXPECT_EQ(number_at(told, "/functions/0/queued"), 0) << path;
  }
  EXPECT_EQ(get("/api/v1/gangs?cluster=moon").status, 404u);
}

TEST_F(waiting, demand_that_no_worker_satisfies_is_listed) {
  start();
  add_worker(worker::habit::hold, 0, 1);
  auto const job = post_json("/api/v1/jobs", R"({"closures":[{"function":"muster.echo","options":
      {"labels":{"zone":"x"},"resources":{"gpu":4},"task":"worker:0"}}]})",
                             201);
  auto const all = get_json("/api/v1/wishes");
  ASSERT_EQ(all.at("wishes").as_array().size(), 1u);
  EXPECT_EQ(text_at(all, "/wishes/0/needs/labels/zone"), "x");
  EXPECT_EQ(number_at(all, "/wishes/0/needs/resources/gpu"), 4);
  EXPECT_EQ(text_at(all, "/wishes/0/needs/task"), "worker:0");
  EXPECT_EQ(text_at(all, "/wishes/0/functions/0"), "muster.echo");
  EXPECT_EQ(number_at(all, "/wishes/0/queued"), 1);
  EXPECT_EQ(number_at(all, "/wishes/0/workers"), 0);
  EXPECT_EQ(text_at(all, "/wishes/0/job"), text_at(job, "/id"));
  EXPECT_EQ(text_at(all, "/wishes/0/why"),
            "of 1 worker with 'muster.echo', none has the label zone=x");
  EXPECT_TRUE(all.at("complete").as_bool());
  EXPECT_EQ(get("/api/v1/wishes?cluster=moon").status, 404u);
}

struct orders : web_fixture {};

TEST_F(orders, task_is_cordoned_and_uncordoned) {
  start();
  add_worker(worker::habit::echo, 0);
  std::string const path = "/api/v1/clusters/default/tasks/worker/0";
  EXPECT_FALSE(get_json(path).at("cordoned").as_bool());
  EXPECT_TRUE(post_json(path + "/cordon", "").at("cordoned").as_bool());
  auto const job = "/api/v1/jobs/" + text_at(submit(1), "/id");
  EXPECT_EQ(number_at(get_json(job), "/counts/queued"), 1);
  EXPECT_NE(get("/metrics").body.find("muster_tasks_cordoned 1\n"), std::string::npos);
  EXPECT_FALSE(post_json(path + "/uncordon", "").at("cordoned").as_bool());
  EXPECT_EQ(text_at(get_json(job + "/join?timeout=10s"), "/state"), "SUCCEEDED");
  EXPECT_EQ(post("/api/v1/clusters/default/tasks/worker/9/cordon").status, 404u);
  EXPECT_EQ(post("/api/v1/clusters/default/tasks/worker/x/uncordon").status, 404u);
}

}  // namespace
}  // namespace muster::web::test
