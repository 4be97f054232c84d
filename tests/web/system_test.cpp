#include <time.h>

#include <atomic>
#include <cstdlib>
#include <future>
#include <set>
#include <sstream>

#include "tests/web/fixture.hpp"
#include "web/metrics/prometheus.hpp"

namespace muster::web::test {
namespace {

// Returns whether the line has the form name{label="value"} number.
bool is_sample(std::string const& line) {
  auto const name = line.find_first_not_of("abcdefghijklmnopqrstuvwxyz_");
  if (name == 0 || name == std::string::npos) return false;
  auto blank = name;
  if (line[name] == '{') {
    auto const close = line.find("\"}", name);
    if (line.find("=\"", name) > close || close == std::string::npos) return false;
    blank = close + 2;
  }
  if (blank >= line.size() || line[blank] != ' ') return false;
  char* end = nullptr;
  std::strtod(line.c_str() + blank + 1, &end);
  return end == line.c_str() + line.size() && end != line.c_str() + blank + 1;
}

class server_info : public web_fixture {
 protected:
  void SetUp() override { start(); }
};

TEST_F(server_info, overview_counts_tasks_closures_and_values) {
  auto& w = add_worker(worker::habit::hold);
  submit(10);
  auto const before = get_json("/api/v1/overview");
  EXPECT_EQ(number_at(before, "/tasks/connected"), 1);
  EXPECT_EQ(number_at(before, "/closures/queued") + number_at(before, "/closures/running"), 10);
  EXPECT_EQ(number_at(before, "/remote_values/not_ready"), 10);
  w.finish_all("1");
  auto const after = get_json("/api/v1/overview");
  EXPECT_GT(number_at(after, "/closures/succeeded"), 0);
  EXPECT_GT(number_at(after, "/remote_values/held_bytes"), 0);
  EXPECT_EQ(text_at(after, "/functions/0/name"), "muster.echo");
}

TEST_F(server_info, version_names_this_run) {
  auto const v = get_json("/api/v1/version");
  EXPECT_EQ(text_at(v, "/name"), "muster");
  EXPECT_EQ(text_at(v, "/boot"), "9f27c0de51a3b8e4");
}

TEST_F(server_info, health_follows_the_engine) {
  for (auto const* path : {"/livez", "/readyz", "/healthz"}) {
    EXPECT_EQ(get(path).status, 200u) << path;
    EXPECT_EQ(get(path).body, "ok\n");
  }
  engine_->stop();
  EXPECT_EQ(get("/livez").status, 200u);
  EXPECT_EQ(text_at(get_json("/readyz", 503), "/code"), "UNAVAILABLE");
  auto const r = get("/api/v1/jobs");
  EXPECT_EQ(r.status, 503u);
  EXPECT_EQ(text_at(json::parse(r.body), "/code"), "UNAVAILABLE");
  EXPECT_NE(r.header("Retry-After"), "");
}

class server_before_serving : public web_fixture {};

TEST_F(server_before_serving, answers_503_with_the_serving_server_until_it_serves) {
  std::atomic<int> state = 0;
  web_options options;
  options.waiting = [&state]() -> std::optional<not_serving> {
    if (state == 0) return not_serving{"reading jobs", {}};
    if (state == 1) return not_serving{"another server serves", "10.0.0.1:8477"};
    return {};
  };
  options.timeouts.engine = std::chrono::milliseconds(100);
  start(options);
  EXPECT_EQ(get("/livez").status, 200u);
  for (auto const* path : {"/readyz", "/", "/api/v1/jobs", "/api/v1/nothing", "/api/v1/ws"}) {
    auto const r = get(path);
    EXPECT_EQ(r.status, 503u) << path;
    EXPECT_EQ(r.header("Retry-After"), "1") << path;
    EXPECT_EQ(text_at(json::parse(r.body), "/detail"), "reading jobs");
    EXPECT_FALSE(json::parse(r.body).as_object().contains("leader"));
  }
  state = 1;
  EXPECT_EQ(text_at(get_json("/readyz", 503), "/leader"), "10.0.0.1:8477");
  EXPECT_EQ(post("/api/v1/jobs", R"({"function":"f"})").status, 503u);
  state = 2;
  EXPECT_EQ(get("/readyz").status, 200u);
}

TEST_F(server_before_serving, holds_requests_until_it_serves) {
  std::atomic<bool> asked = false, reads = true;
  web_options options;
  options.waiting = [&]() -> std::optional<not_serving> {
    if (!reads) return {};
    asked = true;
    return not_serving{"reading jobs", {}};
  };
  start(options);
  auto asking = std::async(std::launch::async, [&] { return get("/api/v1/jobs").status; });
  EXPECT_TRUE(eventually([&] { return asked.load(); }));
  reads = false;
  EXPECT_EQ(asking.get(), 200u);
}

class busy_engine : public web_fixture {};

TEST_F(busy_engine, request_gets_503_and_its_late_answer_is_dropped) {
  web_options options;
  options.timeouts.engine = std::chrono::milliseconds(50);
  start(options);
  std::promise<void> go_on;
  auto const wait = go_on.get_future().share();
  engine_->post([wait](server::hub&) { wait.wait(); });
  auto const r = get("/api/v1/overview");
  EXPECT_EQ(r.status, 503u);
  EXPECT_NE(r.body.find("did not answer within 50 ms"), std::string::npos) << r.body;
  EXPECT_EQ(get("/readyz").status, 503u);
  EXPECT_EQ(get("/livez").status, 200u);
  go_on.set_value();
  EXPECT_TRUE(eventually([&] { return get("/readyz").status == 200; }));
}

// 64 uploads at a time are allowed, so uploads that were not abandoned would exhaust them.
TEST_F(busy_engine, abandons_uploads_whose_requests_have_timed_out) {
  web_options options;
  options.timeouts.engine = std::chrono::milliseconds(20);
  start(options);
  std::promise<void> go_on;
  auto const wait = go_on.get_future().share();
  engine_->post([wait](server::hub&) { wait.wait(); });
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(send("PUT", "/api/v1/blobs/" + std::string(64, 'a'), "x").status, 503u);
  auto const program =
      R"({"command":["true"],"tasks":{"worker":1},"upload":")" + std::string(64, 'a') + "\"}";
  EXPECT_EQ(post("/api/v1/programs", program).status, 503u);
  go_on.set_value();
  auto const* const path =
      "/api/v1/blobs/2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";
  EXPECT_TRUE(eventually([&] { return send("PUT", path, "x").status == 201; }));
}

TEST_F(server_info, metrics_are_well_formed_prometheus_text) {
  add_worker(worker::habit::echo);
  get_json("/api/v1/jobs/" + text_at(submit(5), "/id") + "/join?timeout=10s");
  auto const r = get("/metrics");
  EXPECT_EQ(r.header("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  std::istringstream lines(r.body);
  std::set<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) {
      EXPECT_TRUE(line.starts_with("# HELP ") || line.starts_with("# TYPE ")) << line;
    } else {
      EXPECT_TRUE(is_sample(line)) << line;
      names.insert(line.substr(0, line.find_first_of("{ ")));
    }
  }
  for (auto const* name : {"muster_tasks",
                           "muster_closures",
                           "muster_closures_finished_total",
                           "muster_queue_depth",
                           "muster_closures_put_back_total",
                           "muster_closures_retried_total",
                           "muster_remote_values_total",
                           "muster_jobs",
                           "muster_programs",
                           "muster_program_ranks",
                           "muster_programs_finished_total",
                           "muster_program_attempts_total",
                           "muster_program_restarts_total",
                           "muster_objects",
                           "muster_object_calls_total",
                           "muster_datasets",
                           "muster_dataset_splits",
                           "muster_dataset_draws_waiting",
                           "muster_dataset_splits_total",
                           "muster_remote_values_held_bytes",
                           "muster_values_spilled",
                           "muster_values_spilled_bytes",
                           "muster_value_spills_total",
                           "muster_value_loads_total",
                           "muster_values_dropped_total",
                           "muster_session_rows_bytes",
                           "muster_parked_calls",
                           "muster_heartbeat_age_seconds",
                           "muster_http_requests_total",
                           "muster_closure_queue_wait_seconds_bucket",
                           "muster_closure_execution_seconds_sum",
                           "muster_closure_total_seconds_count",
                           "muster_remote_value_wait_seconds_bucket",
                           "muster_task_recovery_seconds_bucket",
                           "muster_worker_failures_total",
                           "muster_closure_stop_requests_total",
                           "muster_queue_full_seconds_total",
                           "muster_task_finished_total",
                           "muster_task_failed_total",
                           "muster_task_running",
                           "muster_tasks_unmeasured",
                           "muster_log_lines_total",
                           "muster_log_bytes",
                           "muster_websocket_clients",
                           "muster_websocket_bytes_total",
                           "muster_engine_lag_seconds_bucket",
                           "muster_journal_sync_seconds_bucket",
                           "process_cpu_seconds_total",
                           "process_resident_memory_bytes",
                           "process_start_time_seconds"})
    EXPECT_TRUE(names.contains(name)) << name;
  EXPECT_NE(r.body.find("muster_closures_finished_total{state=\"succeeded\"} 5\n"),
            std::string::npos);
}

// Waits until the wall clock or the time since boot, whichever is first, reaches a whole second.
// The difference of their whole seconds changes then.
void wait_for_next_second() {
  timespec wall{}, boot{};
  clock_gettime(CLOCK_REALTIME, &wall);
  clock_gettime(CLOCK_BOOTTIME, &boot);
  bool const is_wall = wall.tv_nsec > boot.tv_nsec;
  timespec const next{(is_wall ? wall : boot).tv_sec + 1, 0};
  clock_nanosleep(is_wall ? CLOCK_REALTIME : CLOCK_BOOTTIME, TIMER_ABSTIME, &next, nullptr);
}

TEST(process_info_test, start_time_is_the_same_in_every_reading) {
  auto const first = read_process_facts().start_time_s;
  EXPECT_GT(first, 0);
  wait_for_next_second();
  // A recomputed start time would differ by rounding, though not in each reading.
  for (int i = 0; i < 100; ++i) ASSERT_EQ(read_process_facts().start_time_s, first);
}

TEST_F(server_info, openapi_describes_all_routes) {
  auto const v = get_json("/openapi.json");
  EXPECT_EQ(text_at(v, "/openapi"), "3.1.0");
  auto const& paths = v.at("paths").as_object();
  EXPECT_TRUE(paths.contains("/api/v1/jobs/{id}/join"));
  for (auto const& [path, operations] : paths) {
    for (auto const& [method, operation] : operations.as_object()) {
      auto const& o = operation.as_object();
      EXPECT_TRUE(o.contains("operationId") && o.contains("responses")) << path;
      if (method != "get" || path.find('{') != json::string_view::npos) continue;
      auto const status = get(std::string(path)).status;
      bool const needs_disk = o.at("responses").as_object().contains("409");
      EXPECT_TRUE(status == 200 || (needs_disk && status == 409)) << path << " " << status;
    }
  }
  EXPECT_EQ(get("/api/v1/openapi.json").body, get("/openapi.json").body);
}

}  // namespace
}  // namespace muster::web::test
