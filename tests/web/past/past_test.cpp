#include "tests/web/past/past_fixture.hpp"
#include "web/rest/history/history_charts.hpp"

namespace muster::web::test {
namespace {

using names = std::vector<std::string>;

TEST_F(history_fixture, events_of_a_period_are_paginated) {
  for (int i = 0; i < 5; ++i) past.event(i * 1min, "default", "event " + std::to_string(i));
  start(with_history());
  auto const path = "/api/v1/events?from_ms=" + at(1min) + "&to_ms=" + at(3min) + "&limit=2";
  auto const first = get_json(path);
  EXPECT_EQ(texts(first, "events", "text"), (names{"event 1", "event 2"}));
  EXPECT_EQ(number_at(first, "/events/0/number"), 0);
  auto const second = get_json(path + "&page_token=" + text_at(first, "/next_page_token"));
  EXPECT_EQ(texts(second, "events", "text"), names{"event 3"});
  EXPECT_FALSE(second.as_object().contains("next_page_token"));
  EXPECT_EQ(texts(get_json("/api/v1/events?to_ms=" + at(0min)), "events", "text"),
            names{"event 0"});
  EXPECT_TRUE(get_json(path + "&subject=worker:2").at("events").as_array().empty());
}

TEST_F(history_fixture, events_of_a_kind_are_found_on_disk_and_in_memory) {
  past.event(1min, "default", "lost");
  past.event(2min, "default", "failed", "barrier_failed");
  start(with_history());
  auto const path = "/api/v1/events?kind=barrier_failed";
  EXPECT_EQ(texts(get_json(path + ("&from_ms=" + at(0min))), "events", "text"), names{"failed"});
  core_engine().tell({core::coordination::severity::info, "barrier_failed", {}, {}, "now"});
  core_engine().tell({core::coordination::severity::info, "task_lost", {}, {}, "another"});
  EXPECT_EQ(texts(get_json(path), "events", "text"), names{"now"});
  EXPECT_TRUE(get_json("/api/v1/events?kind=none").at("events").as_array().empty());
}

TEST_F(history_fixture, events_that_are_not_on_disk_yet_are_found) {
  auto const epoch = -noon.time_since_epoch();  // the time of events in memory
  past.event(epoch, "", "lost");
  past.event(epoch, "", "written", "k");
  start(with_history());
  auto const found = [&](std::string const& more) {
    return texts(get_json("/api/v1/events?to_ms=" + at(0s) + more), "events", "text");
  };
  for (auto const* text : {"written", "new", "another"})
    core_engine().tell({core::coordination::severity::warning, "k", {}, "worker:1", text});
  EXPECT_EQ(found(""), (names{"lost", "written", "new", "another"}));
  EXPECT_EQ(found("&kind=k"), (names{"written", "new", "another"}));
  EXPECT_EQ(found("&limit=3"), (names{"lost", "written", "new"}));
  EXPECT_EQ(found("&limit=1"), names{"lost"});
}

TEST_F(history_fixture, invalid_time_is_refused_with_its_field) {
  start(with_history());
  EXPECT_EQ(text_at(get_json("/api/v1/events?from_ms=10&to_ms=9", 422), "/field"), "to_ms");
  EXPECT_EQ(text_at(get_json("/api/v1/events?from_ms=x", 400), "/field"), "from_ms");
  EXPECT_EQ(text_at(get_json("/api/v1/remote_values?from_ms=10&to_ms=9", 422), "/field"), "to_ms");
  EXPECT_EQ(text_at(get_json("/api/v1/events?from_ms=1&after=3", 422), "/field"), "after");
  EXPECT_EQ(text_at(get_json("/api/v1/history/jobs?page_token=x00", 400), "/field"), "page_token");
  EXPECT_EQ(text_at(get_json("/api/v1/history/stream?steps=1001", 400), "/field"), "steps");
  EXPECT_EQ(text_at(get_json("/api/v1/samples?from_ms=2&to_ms=1", 422), "/field"), "to_ms");
  EXPECT_EQ(text_at(get_json("/api/v1/history/jobs?from_ms=2&to_ms=1", 422), "/field"), "to_ms");
  EXPECT_EQ(text_at(get_json("/api/v1/history/stream?from_ms=2&to_ms=1", 422), "/field"), "to_ms");
  EXPECT_EQ(text_at(get_json("/api/v1/clusters/default/runs?from_ms=2&to_ms=1", 422), "/field"),
            "to_ms");
  get_json("/api/v1/history/stream?from_ms=1&cluster=nobody", 404);
}

TEST_F(history_fixture, records_in_memory_are_found_by_time_without_a_disk) {
  start();
  core_engine().tell({core::coordination::severity::info, "k", {}, {}, "of the epoch"});
  EXPECT_EQ(texts(get_json("/api/v1/events?to_ms=0"), "events", "text"), names{"of the epoch"});
  EXPECT_TRUE(get_json("/api/v1/events?from_ms=1&to_ms=2").at("events").as_array().empty());
  EXPECT_TRUE(get_json("/api/v1/clusters/default/runs").at("runs").as_array().empty());
  get_json("/api/v1/clusters/nobody/runs", 404);
  for (auto const* path :
       {"/api/v1/history/jobs", "/api/v1/history/stream?from_ms=1", "/api/v1/samples?from_ms=1",
        "/api/v1/logs/search?text=a", "/api/v1/machines?from_ms=1"})
    EXPECT_TRUE(contains(text_at(get_json(path, 409), "/detail"), "--data-dir")) << path;
}

TEST_F(history_fixture, charts_of_a_period_have_the_requested_number_of_steps) {
  for (int i = 1; i <= 60; ++i) {
    past.point(0, i * 1s, static_cast<float>(i), 2);
    if (i % 10 == 0) past.point(1, i * 1s, 1'000, 0);  // of another series
  }
  start(with_history());
  auto const path = "/api/v1/samples?from_ms=" + at(0s) + "&to_ms=" + at(60s);
  auto const all = get_json(path + "&steps=4");
  EXPECT_EQ(number_at(all, "/step_ms"), 15'000);
  ASSERT_EQ(all.at("t").as_array().size(), 5u) << "the last timestamp starts another step";
  EXPECT_EQ(number_at(all, "/t/0"), noon_ms + 15'000);
  EXPECT_EQ(all.at("queued").at(0).to_number<double>(), 7.5) << "the mean of 1 to 14";
  EXPECT_EQ(all.at("run_p99_ms").at(0).to_number<double>(), 14) << "the greatest";
  EXPECT_EQ(all.at("failed").at(1).to_number<double>(), 2);
  EXPECT_EQ(number_at(all, "/until_ms"), noon_ms + 60'000);
  EXPECT_EQ(get_json(path).at("t").as_array().size(), 60u);
}

// Two workers. A closure spans the boundary between two steps.
TEST_F(history_fixture, worker_activity_is_reported_by_step_and_function) {
  core::span_page page;
  page.names.lanes = {{0, "worker", 0, 1}, {1, "worker", 1, 1}};
  core::span_view one;
  one.function = past.function("f");
  one.started = noon + 8s;
  one.lasted = 4s;
  one.closure = core::closure_id{1};
  page.spans.push_back(one);
  one.lane = 1;
  one.state = core::span_state::failed;
  one.started = noon + 11s;
  one.lasted = 1s;
  one.failed = 1;
  page.spans.push_back(one);
  past.spans(20s, {}, page);
  past.spans(21s, "other", page);
  start(with_history());
  auto const path = "/api/v1/history/stream?from_ms=" + at(0s) + "&to_ms=" + at(19s) + "&steps=2";
  auto const all = get_json(path);
  EXPECT_EQ(text_at(all, "/cluster"), "default");
  EXPECT_EQ(number_at(all, "/step_ms"), 10'000);
  EXPECT_EQ(texts(all, "tasks", "task"), (names{"worker:0", "worker:1"}));
  EXPECT_EQ(json::serialize(all.at("tasks").at(0).at("busy_ms")), "[2000,2000]");
  EXPECT_EQ(json::serialize(all.at("tasks").at(0).at("ended")), "[0,1]");
  EXPECT_EQ(json::serialize(all.at("tasks").at(1).at("failed")), "[0,1]");
  EXPECT_EQ(number_at(all, "/functions/0/ended"), 2);
  EXPECT_EQ(number_at(all, "/functions/0/failed"), 1);
  EXPECT_EQ(number_at(all, "/functions/0/busy_ms"), 5'000);
  EXPECT_TRUE(get_json("/api/v1/history/stream?from_ms=" + at(2h)).at("tasks").as_array().empty());
}

TEST_F(history_fixture, workers_beyond_the_limit_are_counted) {
  core::span_page page;
  for (std::uint32_t i = 0; i < 101; ++i) {
    page.names.lanes.push_back({i, "worker", i, 1});
    core::span_view one;
    one.lane = i;
    one.function = core::several_functions;
    one.started = noon + 8s;
    one.lasted = 1s;
    one.count = 2;
    page.spans.push_back(one);
  }
  past.spans(20s, {}, page);
  start(with_history());
  auto const all =
      get_json("/api/v1/history/stream?steps=1000&from_ms=" + at(0s) + "&to_ms=" + at(999s));
  EXPECT_EQ(all.at("tasks").as_array().size(), history_stream::cells_max / 1'000);
  EXPECT_EQ(number_at(all, "/left_out"), 2);
}

TEST_F(history_fixture, functions_beyond_the_limit_are_combined) {
  core::span_page page;
  page.names.lanes = {{0, "worker", 0, 1}};
  for (std::uint32_t i = 0; i < history_stream::functions_max + 10; ++i) {
    core::span_view one;
    one.function = past.function("f" + std::to_string(i));
    one.started = noon;
    one.lasted = 1s;
    page.spans.push_back(one);
  }
  past.spans(20s, {}, page);
  start(with_history());
  auto const all = get_json("/api/v1/history/stream?from_ms=" + at(0s) + "&to_ms=" + at(9s));
  ASSERT_EQ(all.at("functions").as_array().size(), history_stream::functions_max + 1);
  for (auto const& f : all.at("functions").as_array())
    EXPECT_EQ(f.at("ended"), f.at("name") == "" ? 10 : 1);
}

// A client cannot receive a page larger than its buffer.
TEST_F(history_fixture, page_of_large_records_is_cut_and_continued) {
  std::string const text(1 << 20, 'x');
  for (int i = 0; i < 6; ++i) past.event(i * 1s, "default", text + std::to_string(i));
  start(with_history());
  auto const path = "/api/v1/events?from_ms=" + at(0s) + "&to_ms=" + at(9s);
  auto const first = get_json(path);
  EXPECT_EQ(first.at("events").as_array().size(), 4u);
  auto const second = get_json(path + "&page_token=" + text_at(first, "/next_page_token"));
  EXPECT_EQ(second.at("events").as_array().size(), 2u);
  EXPECT_FALSE(second.as_object().contains("next_page_token"));
}

TEST_F(history_fixture, ended_jobs_and_runs_are_listed) {
  past.job(1min, "default", "one");
  past.job(2min, "train", "two");
  past.run(1min, "default", 1);
  past.run(2min, "default", 2);
  past.run(2min, "other", 3);
  start(with_history(), {}, 2);
  auto const jobs = get_json("/api/v1/history/jobs");
  EXPECT_EQ(texts(jobs, "jobs", "name"), (names{"one", "two"}));
  EXPECT_EQ(text_at(jobs, "/jobs/0/state"), "FAILED");
  EXPECT_EQ(text_at(jobs, "/jobs/0/error/message"), "no such column");
  EXPECT_EQ(number_at(jobs, "/jobs/0/counts/succeeded"), 3);
  EXPECT_EQ(texts(get_json("/api/v1/history/jobs?cluster=train"), "jobs", "name"), names{"two"});
  auto const page = get_json("/api/v1/history/jobs?limit=1");
  EXPECT_EQ(texts(page, "jobs", "name"), names{"one"});
  auto const next = "/api/v1/history/jobs?page_token=" + text_at(page, "/next_page_token");
  EXPECT_EQ(texts(get_json(next), "jobs", "name"), names{"two"});
  auto const runs = get_json("/api/v1/clusters/default/runs?limit=1");
  ASSERT_EQ(runs.at("runs").as_array().size(), 1u);
  EXPECT_EQ(number_at(runs, "/runs/0/number"), 1);
  EXPECT_EQ(text_at(runs, "/runs/0/cause/message"), "ECC error");
  auto const rest =
      get_json("/api/v1/clusters/default/runs?page_token=" + text_at(runs, "/next_page_token"));
  ASSERT_EQ(rest.at("runs").as_array().size(), 1u);
  EXPECT_EQ(number_at(rest, "/runs/0/number"), 2);
}

TEST_F(history_fixture, token_sees_only_the_history_of_its_clusters) {
  past.event(1min, "default", "of default");
  past.event(1min, "train", "of train");
  past.event(1min, {}, "of a worker of the main one");
  past.job(1min, "default", "default");
  past.job(1min, "train", "train");
  past.line(1min, {}, "line of default");
  past.line(1min, "train", "line of train");
  past.machine(1min, "worker:0", "h", 1);
  past.machine(1min, "worker:1", "h", 1, "train");
  start_guarded(with_history());
  ASSERT_EQ(send_as(admin_, "POST", "/api/v1/clusters", R"({"name":"train"})").status, 201u);
  auto const bound = make_token(core::role::viewer, {"train"});
  auto const seen = [&](std::string const& token, std::string const& path) {
    return send_as(token, "GET", path);
  };
  auto const told = [&](std::string const& token, std::string const& path, std::string const& list,
                        std::string const& key) {
    return texts(json::parse(seen(token, path).body), list, key);
  };
  auto const events = "/api/v1/events?from_ms=" + at(0s) + "&to_ms=" + at(1h);
  EXPECT_EQ(told(bound, events, "events", "text"), names{"of train"});
  EXPECT_EQ(told(admin_, events, "events", "text").size(), 3u);
  EXPECT_EQ(told(bound, "/api/v1/history/jobs", "jobs", "name"), names{"train"});
  EXPECT_EQ(told(bound, "/api/v1/logs/search?text=line", "lines", "text"), names{"line of train"});
  EXPECT_EQ(told(bound, "/api/v1/machines" + events.substr(events.find('?')), "machines", "task"),
            names{"worker:1"});
  EXPECT_EQ(seen(bound, "/api/v1/history/jobs?cluster=default").status, 403u);
  EXPECT_EQ(seen(bound, "/api/v1/logs/search?text=line&cluster=default").status, 403u);
  EXPECT_EQ(seen(bound, "/api/v1/history/stream?from_ms=1&cluster=default").status, 403u);
  EXPECT_EQ(seen(bound, "/api/v1/history/stream?from_ms=1&cluster=train").status, 200u);
  EXPECT_EQ(seen(bound, "/api/v1/clusters/default/runs").status, 403u);
  EXPECT_EQ(seen(bound, "/api/v1/samples?from_ms=1").status, 403u);
  EXPECT_EQ(seen(admin_, "/api/v1/samples?from_ms=1").status, 200u);
}

TEST_F(history_fixture, busy_reader_refuses_requests) {
  auto& reader = past.reader();
  std::promise<void> go_on;
  auto const busy = go_on.get_future().share();
  for (std::size_t i = 0; i < server::history_reader::questions_max; ++i)
    ASSERT_TRUE(reader.ask([busy](auto const&) { busy.wait(); }).ok());
  start(with_history());
  for (auto const* path : {"/api/v1/history/jobs", "/api/v1/events?from_ms=1",
                           "/api/v1/samples?from_ms=1", "/api/v1/history/stream?from_ms=1",
                           "/api/v1/logs/search?text=a", "/api/v1/machines?to_ms=1"})
    EXPECT_TRUE(contains(get_json(path, 429).at("detail").as_string(), "try again")) << path;
  get_json("/api/v1/clusters/default/runs", 429);
  go_on.set_value();
  EXPECT_TRUE(eventually([&] { return get("/api/v1/history/jobs").status == 200; }));
}

}  // namespace
}  // namespace muster::web::test
