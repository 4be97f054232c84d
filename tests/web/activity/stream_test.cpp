// Worker activity over REST: the stream, traces, a worker's history, samples.
#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace stream_cases {

using namespace std::chrono_literals;

class stream : public web_fixture {
 protected:
  void SetUp() override {
    core::config config;
    config.activity_bytes_max = 1;  // two chunks
    start({}, config);
  }

  core::time_point now() {
    return core_engine().run([](server::hub& h) { return h.now(); });
  }
  /// Submits n closures that a worker holds. Returns the submission.
  json::value work(worker& w, std::size_t n) {
    auto job = submit(n);
    EXPECT_TRUE(eventually([&] { return w.holds() == n; }));
    pass(2ms);
    return job;
  }
  void pass(core::duration time) {
    auto const begun = now();
    EXPECT_TRUE(eventually([&] { return now() - begun > time; }));
  }
  /// Bars appear when their 100 ms are over.
  json::value settled(std::string const& path = "/api/v1/stream") {
    pass(110ms);
    return get_json(path);
  }
};

std::size_t count(json::value const& v, std::string const& pointer) {
  return v.at_pointer(pointer).as_array().size();
}

TEST_F(stream, finished_and_running_closures_are_shown) {
  auto& w = add_worker(worker::habit::hold, 3, 4);
  auto const done = work(w, 2);
  w.finish_all("1");
  auto const runs = work(w, 1);
  auto const v = settled();
  EXPECT_EQ(count(v, "/bars/lane"), 2u);
  for (auto const* column : {"start_us", "duration_us", "busy_us", "function", "state", "count",
                             "failed", "closure", "job"})
    EXPECT_EQ(count(v, std::string("/bars/") + column), 2u) << column;
  EXPECT_EQ(text_at(v, "/bars/closure/0"), text_at(done, "/closures/0/id"));
  EXPECT_EQ(number_at(v, "/bars/state/0"), 0);
  EXPECT_EQ(number_at(v, "/bars/count/0"), 1);
  EXPECT_GE(number_at(v, "/bars/start_us/0"), 0);
  EXPECT_GE(number_at(v, "/bars/duration_us/0"), 2'000);
  EXPECT_EQ(text_at(v, "/lanes/0/task"), "worker:3");
  EXPECT_EQ(text_at(v, "/lanes/0/cluster"), "");
  EXPECT_EQ(number_at(v, "/lanes/0/slots"), 4);
  EXPECT_EQ(number_at(v, "/lanes/0/lane"), number_at(v, "/bars/lane/0"));
  EXPECT_EQ(text_at(v, "/functions/0"), "muster.echo");
  EXPECT_EQ(text_at(v, "/running/closure/0"), text_at(runs, "/closures/0/id"));
  auto const job = [&v](std::string const& column) {
    return text_at(v, "/jobs/" + std::to_string(number_at(v, column)));
  };
  EXPECT_EQ(job("/bars/job/0"), text_at(done, "/id"));
  EXPECT_EQ(job("/running/job/0"), text_at(runs, "/id"));
  EXPECT_FALSE(v.at("more").as_bool());
  EXPECT_FALSE(v.as_object().contains("minutes"));
  EXPECT_GT(number_at(v, "/since_ms"), 1'600'000'000'000);
}

TEST_F(stream, can_be_followed) {
  auto& w = add_worker(worker::habit::hold, -1, 4);
  work(w, 3);
  w.fail_all("broken");
  auto const first = settled("/api/v1/stream?limit=2");
  EXPECT_EQ(count(first, "/bars/lane"), 2u);
  EXPECT_EQ(number_at(first, "/bars/state/0"), 1);
  EXPECT_TRUE(first.at("more").as_bool());
  auto const after = std::to_string(number_at(first, "/next"));
  auto const second = get_json("/api/v1/stream?after=" + after);
  EXPECT_EQ(count(second, "/bars/lane"), 1u);
  EXPECT_FALSE(second.at("more").as_bool());
  auto const next = std::to_string(number_at(second, "/next"));
  EXPECT_EQ(count(get_json("/api/v1/stream?after=" + next), "/bars/lane"), 0u);
}

TEST_F(stream, is_filtered_by_time_task_and_job) {
  auto& w = add_worker(worker::habit::hold, 3, 4);
  auto const one = work(w, 2);
  w.finish_all("1");
  auto const other = work(w, 1);
  w.finish_all("1");
  auto const all = settled();
  EXPECT_EQ(count(all, "/bars/lane"), 3u);
  auto const bars = [&](std::string const& query) {
    return count(get_json("/api/v1/stream?" + query), "/bars/lane");
  };
  EXPECT_EQ(bars("job=" + text_at(one, "/id")), 2u);
  EXPECT_EQ(bars("job=" + text_at(other, "/id")), 1u);
  EXPECT_EQ(bars("tasks=worker:3,worker:4"), 3u);
  EXPECT_EQ(bars("tasks=worker:4"), 0u);
  EXPECT_EQ(bars("from_ms=" + std::to_string(number_at(all, "/now_ms") + 1'000)), 0u);
  EXPECT_EQ(bars("to_ms=1000"), 0u);
  EXPECT_EQ(count(get_json("/api/v1/stream?to_ms=1000"), "/running/lane"), 0u);
}

TEST_F(stream, each_cluster_has_its_own_stream) {
  ASSERT_EQ(post("/api/v1/clusters", R"({"name":"train"})").status, 201u);
  EXPECT_EQ(count(get_json("/api/v1/stream?cluster=train"), "/bars/lane"), 0u);
  for (auto const* path : {"/api/v1/stream", "/api/v1/stream/trace"}) {
    EXPECT_EQ(get(std::string(path) + "?cluster=moon").status, 404u);
    EXPECT_EQ(get(std::string(path) + "?job=job_00000000000000ff").status, 404u);
  }
}

TEST_F(stream, invalid_time_task_or_job_is_refused) {
  auto const field = [&](std::string const& query, unsigned status = 400) {
    auto const v = get_json("/api/v1/stream?" + query, status);
    return v.as_object().contains("field") ? text_at(v, "/field") : std::string();
  };
  EXPECT_EQ(field("from_ms=-1"), "from_ms");
  EXPECT_EQ(field("from_ms=9&to_ms=8", 422), "to_ms");
  EXPECT_EQ(field("tasks=worker"), "tasks");
  EXPECT_EQ(field("tasks=worker:x"), "tasks");
  EXPECT_EQ(field("tasks=:1"), "tasks");
  EXPECT_EQ(field("tasks=worker:1,,"), "tasks");
  EXPECT_EQ(field("limit=0"), "limit");
  EXPECT_EQ(field("limit=50001"), "limit");
  EXPECT_EQ(field("after=x"), "after");
  EXPECT_EQ(field("job=7", 404), "");
  EXPECT_EQ(get("/api/v1/stream/trace?tasks=worker").status, 400u);
  std::string many = "tasks=worker:0";
  for (int i = 1; i <= 100; ++i) many += ",worker:" + std::to_string(i);
  auto const v = get_json("/api/v1/stream?" + many, 422);
  EXPECT_EQ(text_at(v, "/limit"), "100 tasks");
  EXPECT_EQ(get("/api/v1/stream/trace?" + many).status, 422u);
}

TEST_F(stream, evicted_bars_are_summed_per_minute) {
  auto& w = add_worker(worker::habit::hold, 0, 256);
  submit(8'202);
  auto const left = [&] {
    auto const o = get_json("/api/v1/overview");
    return number_at(o, "/closures/queued") + number_at(o, "/closures/running");
  };
  while (left() > 0) {
    pass(2ms);
    w.finish_all("1");
  }
  auto const v = settled();
  EXPECT_EQ(count(v, "/bars/lane"), 4'106u);
  ASSERT_GE(count(v, "/minutes/lane"), 1u);
  std::int64_t finished = 0;
  for (auto const& n : v.at_pointer("/minutes/count").as_array()) finished += n.to_number<int>();
  EXPECT_EQ(finished, 8'202);
  for (auto const* column : {"start_ms", "failed", "busy_ms", "function"})
    EXPECT_EQ(count(v, std::string("/minutes/") + column), count(v, "/minutes/lane")) << column;
  auto const since = std::to_string(number_at(v, "/since_ms") + 1);
  EXPECT_FALSE(get_json("/api/v1/stream?from_ms=" + since).as_object().contains("minutes"));
}

/// The complete events of a trace, and the names of its threads.
struct spans {
  std::vector<json::object> all;
  std::map<std::int64_t, std::string> threads, processes;

  explicit spans(json::value const& trace) {
    for (auto const& e : trace.at("traceEvents").as_array()) {
      if (e.at("ph") == "X") {
        all.push_back(e.as_object());
        continue;
      }
      bool const process = e.at("name") == "process_name";
      (process ? processes : threads)[number_at(e, process ? "/pid" : "/tid")] =
          text_at(e, "/args/name");
    }
  }
};

TEST_F(stream, job_is_available_as_a_trace) {
  auto& w = add_worker(worker::habit::hold, 7, 4);
  auto const job = work(w, 2);
  w.finish_all("1");
  auto const path = "/api/v1/jobs/" + text_at(job, "/id") + "/trace";
  auto const answer = get(path);
  EXPECT_EQ(answer.header("Content-Disposition"),
            "attachment; filename=\"" + text_at(job, "/id") + "-trace.json\"");
  spans const s(json::parse(answer.body));
  ASSERT_EQ(s.all.size(), 2u);
  auto const& e = s.all[0];
  EXPECT_EQ(e.at("name"), "muster.echo");
  EXPECT_GE(e.at("dur").to_number<int>(), 2'000);
  EXPECT_EQ(e.at("args").at("closure"), json::string(text_at(job, "/closures/0/id")));
  EXPECT_EQ(e.at("args").at("job"), json::string(text_at(job, "/id")));
  EXPECT_EQ(e.at("args").at("state"), "SUCCEEDED");
  EXPECT_EQ(s.threads.at(e.at("tid").to_number<int>()), "worker:7");
  EXPECT_EQ(s.threads.at(s.all[1].at("tid").to_number<int>()), "worker:7 #2")
      << "two at a time need two threads";
  EXPECT_EQ(s.processes.size(), 1u);

  auto const bad = work(w, 1);
  auto const bad_path = "/api/v1/jobs/" + text_at(bad, "/id") + "/trace";
  EXPECT_EQ(spans(get_json(bad_path)).all.at(0).at("args").at("state"), "RUNNING");
  w.fail_all("broken");
  auto const failed = spans(get_json(bad_path)).all.at(0);
  EXPECT_EQ(failed.at("args").at("state"), "FAILED");
  EXPECT_EQ(failed.at("args").at("error"), "broken");
  EXPECT_EQ(get("/api/v1/jobs/job_00000000000000ff/trace").status, 404u);
  EXPECT_EQ(get("/api/v1/jobs/x/trace").status, 404u);
}

TEST_F(stream, trace_shows_why_an_attempt_was_repeated) {
  auto& w = add_worker(worker::habit::hold, 7, 4);
  auto const job = post_json("/api/v1/jobs",
                             R"({"closures":[{"function":"muster.echo","args":[1],"options":)"
                             R"({"max_retries":1,"retry_delay":"1ms"}}]})",
                             201);
  std::string const why = "no column of this name in any of the tables";
  EXPECT_TRUE(eventually([&] { return w.holds() == 1; }));
  w.fail_all(why);
  EXPECT_TRUE(eventually([&] { return w.holds() == 1; }));
  w.finish_all("1");
  spans const s(get_json("/api/v1/jobs/" + text_at(job, "/id") + "/trace"));
  ASSERT_EQ(s.all.size(), 2u);
  EXPECT_EQ(s.all[0].at("args").at("error"), json::string("failed: " + why));
  EXPECT_FALSE(s.all[1].at("args").as_object().contains("error"));
}

TEST_F(stream, trace_of_many_closures_is_complete) {
  add_worker(worker::habit::echo, -1, 64);
  auto const job = submit(3'000);
  auto const path = "/api/v1/jobs/" + text_at(job, "/id");
  get_json(path + "/join?timeout=30s");
  spans const s(get_json(path + "/trace"));
  EXPECT_EQ(s.all.size(), 3'000u);
  EXPECT_LE(s.threads.size(), 64u);
}

TEST_F(stream, whole_stream_is_available_as_a_trace) {
  auto& w = add_worker(worker::habit::hold, 7, 4);
  auto const job = work(w, 2);
  w.finish_all("1");
  settled();
  spans const s(get_json("/api/v1/stream/trace"));
  ASSERT_EQ(s.all.size(), 2u);
  EXPECT_EQ(s.processes.begin()->second, "default");
  EXPECT_EQ(s.threads.begin()->second, "worker:7");
  EXPECT_EQ(s.all[0].at("args").at("job"), json::string(text_at(job, "/id")));
  EXPECT_EQ(spans(get_json("/api/v1/stream/trace?tasks=worker:8")).all.size(), 0u);
  EXPECT_EQ(spans(get_json("/api/v1/stream/trace?job=" + text_at(job, "/id"))).all.size(), 2u);
}

// Short spans may be merged or kept; in both cases no function gets the time of another.
TEST_F(stream, time_is_not_attributed_to_other_functions) {
  add_worker(worker::habit::echo, 7, 16);
  std::string closures;
  std::map<std::string, std::int64_t> submitted, traced, told;
  for (int i = 0; i < 140; ++i) {
    auto const name = std::string("step.") + static_cast<char>('a' + i % 7);
    ++submitted[name];
    closures += (i > 0 ? "," : "") +
                (R"({"function":"muster.echo","args":[1],"display_name":")" + name + "\"}");
  }
  auto const job = post_json("/api/v1/jobs", R"({"closures":[)" + closures + "]}", 201);
  get_json("/api/v1/jobs/" + text_at(job, "/id") + "/join?timeout=30s");
  auto const v = settled();
  std::int64_t all = 0;
  for (std::size_t i = 0; i < count(v, "/bars/count"); ++i) {
    auto const at = std::to_string(i);
    auto const n = number_at(v, "/bars/count/" + at), of = number_at(v, "/bars/function/" + at);
    all += n;
    if (of < static_cast<std::int64_t>(count(v, "/functions")))
      told[text_at(v, "/functions/" + std::to_string(of))] += n;
  }
  EXPECT_EQ(all, 140);
  for (auto const& e : spans(get_json("/api/v1/stream/trace")).all) {
    auto const* n = e.at("args").as_object().if_contains("count");
    traced[std::string(e.at("name").as_string())] += n ? n->to_number<std::int64_t>() : 1;
  }
  all = 0;
  for (auto const& [name, n] : traced) all += n;
  EXPECT_EQ(all, 140);
  for (auto const& [name, n] : submitted) {
    EXPECT_LE(told[name], n) << name;
    EXPECT_LE(traced[name], n) << name;
  }
}

TEST_F(stream, worker_has_a_history) {
  auto& w = add_worker(worker::habit::hold, 7, 4);
  work(w, 3);
  w.fail_all("broken");
  auto const v = get_json("/api/v1/clusters/default/tasks/worker/7/history");
  EXPECT_EQ(number_at(v, "/step_ms"), 60'000);
  ASSERT_EQ(count(v, "/t"), 60u);
  std::int64_t finished = 0, failed = 0;
  for (std::size_t i = 0; i < 60; ++i) {
    auto const at = "/" + std::to_string(i);
    if (i > 0) {
      EXPECT_EQ(number_at(v, "/t" + at), number_at(v, "/t/0") + 60'000 * std::int64_t(i));
    }
    finished += number_at(v, "/finished" + at);
    failed += number_at(v, "/failed" + at);
  }
  EXPECT_EQ(finished, 3);
  EXPECT_EQ(failed, 3);
  EXPECT_EQ(count(v, "/busy_ms"), 60u);
  EXPECT_EQ(get("/api/v1/clusters/default/tasks/worker/8/history").status, 404u);
  EXPECT_EQ(get("/api/v1/clusters/default/tasks/worker/x/history").status, 404u);
  EXPECT_EQ(get("/api/v1/clusters/moon/tasks/worker/7/history").status, 404u);
}

TEST_F(stream, samples_are_taken_without_clients) {
  for (auto const* span : {"5m", "1h", "24h"})
    EXPECT_EQ(number_at(get_json(std::string("/api/v1/samples?span=") + span), "/step_ms"),
              span[0] == '5'   ? 1'000
              : span[0] == '1' ? 10'000
                               : 60'000);
  EXPECT_EQ(get("/api/v1/samples?span=2h").status, 400u);
  json::value v;
  EXPECT_TRUE(eventually([&] {
    v = get_json("/api/v1/samples");
    return count(v, "/t") >= 1;
  }));
  for (auto const* column : {"queued", "running", "finished", "failed", "hb_p99", "wait_p50_ms",
                             "wait_p99_ms", "run_p50_ms", "run_p99_ms"})
    EXPECT_EQ(count(v, std::string("/") + column), count(v, "/t")) << column;
}

}  // namespace stream_cases
}  // namespace muster::web::test
