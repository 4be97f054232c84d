// Rare answers that the description contains: full tables, sessions of client programs, late tasks.
// The fixture checks each answer.
#include "base/text.hpp"
#include "tests/web/agents.hpp"
#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace {

class rare_answers : public web_fixture {};

TEST_F(rare_answers, waits_are_refused_without_parked_calls) {
  core::config config;
  config.parked_calls_max = 0;
  start({}, config);
  add_worker(worker::habit::hold);
  auto const job = submit(1);
  auto const path = "/api/v1/jobs/" + text_at(job, "/id");
  auto const closure = "/api/v1/closures/" + text_at(job, "/closures/0/id");
  auto const value = "/api/v1/remote_values/" + text_at(job, "/closures/0/remote_value");
  for (auto const& target : {path + "/join?timeout=1s", path + "/logs?wait=1s",
                             closure + "/logs?wait=1s", value + "/value?timeout=1s"})
    EXPECT_EQ(get(target).status, 429u) << target;
}

TEST_F(rare_answers, full_tables_refuse_requests) {
  core::config config;
  config.closures_max = 2;
  config.per_worker_values_max = 1;
  coordination::limits limits;
  limits.keys_max = 1;
  start({}, config, 1, limits);
  post_json("/api/v1/jobs", R"({"map":{"function":"f","args":[[],[],[]]}})", 429);
  post_json("/api/v1/per_worker_values", R"({"function":"f","args":[{"$bytes":"AP8="}]})", 201);
  post_json("/api/v1/per_worker_values", R"({"function":"f"})", 429);
  EXPECT_EQ(send("PUT", "/api/v1/clusters/default/kv/a", "1").status, 201u);
  EXPECT_EQ(send("PUT", "/api/v1/clusters/default/kv/b", "1").status, 429u);
}

TEST_F(rare_answers, id_limit_counts_bytes_instead_of_characters) {
  start({}, {}, 1);
  std::string id;
  for (int i = 0; i < 2'100; ++i) id += "é";
  auto const p = post_json(
      "/api/v1/clusters/default/barriers/" + percent_encoded(id) + "/wait?task=worker:0&timeout=1s",
      "", 422);
  EXPECT_EQ(text_at(p, "/limit"), "4096 bytes");
}

TEST_F(rare_answers, too_long_wait_is_shortened) {
  start({}, {}, 1);
  EXPECT_EQ(send("PUT", "/api/v1/clusters/default/kv/a", "1").status, 201u);
  EXPECT_EQ(get("/api/v1/clusters/default/kv/a?timeout=99999999999999999999d").body, "1");
}

TEST_F(rare_answers, stopping_server_is_unhealthy) {
  start();
  engine_->stop();
  EXPECT_EQ(get("/healthz").status, 503u);
}

TEST_F(rare_answers, session_of_a_client_program_is_shown) {
  start();
  core_engine().run([](server::hub& h) {
    core::open_session open;
    open.spec.delivery = core::delivery::unary;
    h.ask(std::move(open), [&h](core::reply const& r) {
      core::create_per_worker e;
      e.owner = std::get<core::session_reply>(r.body).session;
      e.function = h.learn({"build"}).ids.front();
      h.ask(std::move(e), [](core::reply const& done) { EXPECT_TRUE(done.status.ok()); });
    });
  });
  auto const jobs = get_json("/api/v1/jobs");
  EXPECT_FALSE(jobs.at_pointer("/jobs/0/holding/attached").as_bool());
  EXPECT_EQ(number_at(jobs, "/jobs/0/generation"), 1);
  auto const values = get_json("/api/v1/per_worker_values");
  EXPECT_EQ(text_at(values, "/per_worker_values/0/job"), text_at(jobs, "/jobs/0/id"));
}

TEST_F(rare_answers, requirements_of_closures_and_labels_of_workers_are_shown) {
  core::config config;
  config.start_delay = std::chrono::hours(1);
  start({}, config);
  worker const w(core_engine(), worker::habit::hold, 1, 4, {"muster.echo"}, {{"gpu", 2}});
  auto const job = post_json("/api/v1/jobs", R"({"closures":[{"function":"muster.echo","options":
      {"labels":{"zone":"a"},"resources":{"gpu":1},"deadline":"1h"}}]})",
                             201);
  auto const c = get_json("/api/v1/closures/" + text_at(job, "/closures/0/id"));
  EXPECT_EQ(text_at(c, "/labels/zone"), "a");
  EXPECT_GT(number_at(c, "/deadline_ms"), 0);
  auto const task = get_json("/api/v1/clusters/default/tasks/worker/1");
  EXPECT_EQ(number_at(task, "/resources/gpu/free"), 2);
  EXPECT_GT(number_at(task, "/starts_ms"), 0);
}

TEST_F(rare_answers, reasons_of_waiting_closures_are_shown) {
  start();
  auto const per_worker = R"({"function":"build"})";
  auto const value = text_at(post_json("/api/v1/per_worker_values", per_worker, 201), "/id");
  post_json("/api/v1/per_worker_values", per_worker, 201);
  text_at(get_json("/api/v1/per_worker_values?limit=1"), "/next_page_token");
  auto const job = post_json("/api/v1/jobs",
                             R"({"closures":[{"function":"f"},{"function":"f",
      "args":[{"$remote_value":"#0"},{"$per_worker":")" +
                                 value + R"("}],
      "options":{"task":"worker:7"}}]})",
                             201);
  auto const c = get_json("/api/v1/closures/" + text_at(job, "/closures/1/id"));
  EXPECT_EQ(number_at(c, "/inputs_missing"), 1);
  EXPECT_EQ(text_at(c, "/inputs/0"), text_at(job, "/closures/0/remote_value"));
  EXPECT_EQ(text_at(c, "/per_worker/0"), value);
  EXPECT_EQ(text_at(c, "/task"), "worker:7");
}

TEST_F(rare_answers, failed_job_and_lost_worker_are_shown) {
  start();
  worker w(core_engine(), worker::habit::echo, 0, 4, {"muster.echo"});
  worker other(core_engine(), worker::habit::hold, 5, 1, {"muster.fail"});
  auto const job = post_json("/api/v1/jobs", R"({"on_error":"continue","closures":[
      {"function":"muster.echo"},{"function":"muster.fail"}]})",
                             201);
  auto const path = "/api/v1/jobs/" + text_at(job, "/id");
  ASSERT_TRUE(eventually([&] { return other.holds() == 1; }));
  other.fail_all("broken");
  get_json(path + "/join?timeout=10s");
  EXPECT_EQ(text_at(get_json(path), "/error/message"), "broken");
  EXPECT_GT(
      number_at(get_json("/api/v1/closures/" + text_at(job, "/closures/0/id")), "/value_bytes"), 0);
  EXPECT_NE(get(path + "/results").body.find("\"error\":"), std::string::npos);
  w.lose("gone");
  post_json("/api/v1/clusters/default/tasks/worker/0/drain", "", 409);
}

TEST_F(rare_answers, stalled_closures_are_shown) {
  core::config config;
  config.watchdog = std::chrono::milliseconds(1);
  start({}, config);
  add_worker(worker::habit::hold);
  submit(1);
  EXPECT_TRUE(eventually([&] {
    return !get_json("/api/v1/overview").at_pointer("/stalled/oldest").as_array().empty();
  }));
}

TEST_F(rare_answers, closures_that_repeatedly_lose_workers_are_shown) {
  start();
  auto const job = post_json("/api/v1/jobs", R"({"options":{"max_worker_failures":0},"closures":[
      {"function":"muster.echo"}]})",
                             201);
  auto const id = text_at(job, "/closures/0/id");
  for (int i = 0; i < 3; ++i) {
    auto& w = add_worker(worker::habit::hold);
    ASSERT_TRUE(eventually([&] { return w.holds() == 1; }));
    w.lose("killed");
  }
  auto const waits = get_json("/api/v1/overview");
  EXPECT_EQ(number_at(waits, "/alone/count"), 1);
  EXPECT_EQ(text_at(waits, "/alone/oldest/0/closure"), id);
  EXPECT_EQ(text_at(waits, "/alone/oldest/0/job"), text_at(job, "/id"));
  EXPECT_EQ(number_at(waits, "/alone/oldest/0/workers_lost"), 3);
  EXPECT_FALSE(waits.at_pointer("/alone/oldest/0").as_object().contains("worker"));
  auto& last = add_worker(worker::habit::hold);
  ASSERT_TRUE(eventually([&] { return last.holds() == 1; }));
  EXPECT_TRUE(get_json("/api/v1/closures/" + id).at("alone").as_bool());
  EXPECT_FALSE(text_at(get_json("/api/v1/overview"), "/alone/oldest/0/worker").empty());
  last.finish_all("1");
  EXPECT_TRUE(
      eventually([&] { return number_at(get_json("/api/v1/overview"), "/alone/count") == 0; }));
  EXPECT_FALSE(get_json("/api/v1/closures/" + id).at("alone").as_bool());
}

TEST_F(rare_answers, awaited_task_is_shown) {
  start();
  post_json("/api/v1/clusters", R"({"name":"c","jobs":{"worker":2},"stuck_after":"1ms"})", 201);
  agents a(core_engine(), "c");
  a.join(2);
  a.enter(0, "step");
  EXPECT_TRUE(eventually([&] {
    auto const task = get_json("/api/v1/clusters/c/tasks/worker/1");
    return text_at(task, "/state") == "LATE" && text_at(task, "/late_for") == "step";
  }));
}

}  // namespace
}  // namespace muster::web::test
