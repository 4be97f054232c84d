#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "tests/e2e/cluster.hpp"
#include "xla/coordination/coordination_service.grpc.pb.h"

namespace muster::e2e {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

struct history_on_disk : testing::Test {
  cluster c;
  std::string const data = c.file("data").string();
  std::string job;

  std::vector<std::string> events(std::string const& kind) {
    std::vector<std::string> found;
    auto const page = c.get("/api/v1/events?limit=1000");
    for (auto const& e : page.at("events").as_array())
      if (e.at("kind").as_string() == std::string_view(kind))
        found.push_back(json::serialize(e.at("time_ms")) + json::serialize(e.at("text")));
    return found;
  }
  std::size_t points() { return c.get("/api/v1/samples").at("t").as_array().size(); }
  /// Returns the functions with their own bars, and the number of bars.
  std::pair<std::string, std::size_t> stream() {
    auto const s = c.get("/api/v1/stream");
    return {json::serialize(s.at("functions")), s.at("bars").at("lane").as_array().size()};
  }

  /// Starts a server with some activity, which is stored a second later.
  process& a_server_with_a_past(words flags = {}) {
    flags.insert(flags.end(), {"--data-dir", data});
    auto& server = c.serve(flags);
    c.worker({"--allow-exec"});
    job = c.post("/api/v1/jobs", R"({"name":"past","on_error":"continue","closures":[
        {"function":"muster.sleep","args":[0.02]},{"function":"muster.exec","args":[["echo","hello"]]},{"function":"muster.fail","args":["no such column"]}]})")
              .at("id")
              .as_string();
    EXPECT_TRUE(c.await_count(job, "failed", 1));
    EXPECT_TRUE(c.await_count(job, "succeeded", 2));
    EXPECT_TRUE(await([&] { return !events("job_failed").empty() && !machines().empty(); }));
    auto const seen = points();
    EXPECT_TRUE(await([&] { return points() >= seen + 7; }, 60s))
        << "machines are kept every five seconds";
    return server;
  }
  std::vector<std::string> machines() {
    std::vector<std::string> found;
    auto const page = c.get("/api/v1/machines?samples=10");
    for (auto const& m : page.at("machines").as_array())
      if (m.as_object().contains("task") && m.as_object().contains("samples"))
        found.emplace_back(m.at("task").as_string());
    return found;
  }
  void register_agent(std::uint64_t incarnation) {
    auto const stub = xla::coordination::CoordinationService::NewStub(
        grpc::CreateChannel(c.grpc(), grpc::InsecureChannelCredentials()));
    xla::coordination::RegisterTaskRequest hello;
    hello.set_incarnation(incarnation);
    xla::coordination::RegisterTaskResponse welcome;
    grpc::ClientContext context;
    auto const done = stub->RegisterTask(&context, hello, &welcome);
    EXPECT_TRUE(done.ok()) << done.error_message();
  }
  std::map<std::string, fs::file_time_type> files() const {
    std::map<std::string, fs::file_time_type> found;
    for (auto const& f : fs::recursive_directory_iterator(data))
      found[f.path().string()] = f.last_write_time();
    return found;
  }
};

TEST_F(history_on_disk, is_there_after_kill_9) {
  auto& first = a_server_with_a_past();
  auto const failed = events("job_failed");
  auto const then = c.get("/api/v1/samples").at("t").as_array();
  auto const ran = stream();
  EXPECT_NE(ran.first.find("muster.sleep"), std::string::npos) << ran.first;
  ASSERT_EQ(failed.size(), 1u);
  first.kill_at_once();

  auto& second = c.serve({"--data-dir", data});
  EXPECT_TRUE(second.says("restored history="));
  EXPECT_EQ(events("job_failed"), failed);
  EXPECT_EQ(events("server_started").size(), 1u);
  EXPECT_TRUE(await([&] {
    auto const stored = c.get("/api/v1/events?kind=server_started&from_ms=1");
    return stored.at("events").as_array().size() == 1;
  })) << "the start itself is stored";
  EXPECT_TRUE(await([&] { return points() > 0; }));
  auto const now = c.get("/api/v1/samples").at("t").as_array();
  EXPECT_EQ(now.at(0), then.at(0)) << "charts begin at the same time";
  EXPECT_EQ(stream(), ran);
  EXPECT_EQ(machines(), (std::vector<std::string>{"worker:0"}));
  EXPECT_NE(c.text("/api/v1/jobs/" + job + "/logs").find("hello"), std::string::npos);
  auto const kept = c.get("/api/v1/overview").at("durable");
  EXPECT_GT(kept.at("history_since_ms").as_int64(), 0);
  EXPECT_EQ(kept.at("history_dropped"), 0);
}

TEST_F(history_on_disk, of_a_stopped_server_is_shown_without_changes) {
  auto& first = a_server_with_a_past();
  auto const failed = events("job_failed");
  auto const before = c.get("/api/v1/jobs/" + job);
  first.kill_at_once();
  auto const left = files();

  auto& look = c.serve({"--read-only", data});
  EXPECT_TRUE(look.says("shows=" + data));
  EXPECT_EQ(c.grpc(), "") << "a read-only server accepts no workers";
  EXPECT_EQ(c.get("/api/v1/jobs/" + job), before);
  EXPECT_EQ(events("job_failed"), failed);
  EXPECT_GT(stream().second, 0u);
  EXPECT_EQ(c.get("/api/v1/session").at("read_only"), true);
  auto const stands = c.get("/api/v1/stream").at("now_ms");
  EXPECT_TRUE(await([&] { return points() > 0; }));
  EXPECT_EQ(c.get("/api/v1/stream").at("now_ms"), stands) << "time does not advance";

  muster::http_request change;
  change.method = "POST";
  change.url = c.url() + "/api/v1/jobs";
  change.body = R"({"closures":[]})";
  change.headers.emplace_back("Content-Type", "application/json");
  muster::http_client client;
  auto const refused = client.send(change).value();
  EXPECT_EQ(refused.status, 403u);
  EXPECT_NE(refused.body.find("is read-only"), std::string::npos) << refused.body;
  look.signal(SIGTERM);
  EXPECT_EQ(look.wait(), 0);
  EXPECT_EQ(files(), left);
}

// A failed run of coordination clients, a job that is not durable and its output: after a restart,
// and read-only without the server.
TEST_F(history_on_disk, ended_jobs_are_listed_by_time_after_kill_9) {
  auto& first = c.serve({"--data-dir", data, "--cluster", "default:worker=1"});
  register_agent(1);
  c.worker({"--allow-exec"});
  job = c.post("/api/v1/jobs", R"({"name":"gone","durable":false,"closures":[
        {"function":"muster.exec","args":[["echo","the loss is NaN"]]}]})")
            .at("id")
            .as_string();
  EXPECT_TRUE(c.await_count(job, "succeeded", 1));
  auto const jobs = [&] {
    std::string names;
    auto const page = c.get("/api/v1/history/jobs?from_ms=1");
    for (auto const& j : page.at("jobs").as_array()) names += j.at("name").as_string();
    return names;
  };
  EXPECT_TRUE(await([&] { return jobs() == "gone"; }));
  auto const runs = [&] { return json::serialize(c.get("/api/v1/clusters/default/runs")); };
  auto const past = [&] { return json::serialize(c.get("/api/v1/clusters/default").at("past")); };
  c.post("/api/v1/clusters/default/fail", R"({"message":"ECC error"})");
  register_agent(2);  // the next run
  EXPECT_TRUE(await([&] { return runs().find("ECC error") != std::string::npos; }));
  auto const then = runs();
  auto const found = [&] {
    return json::serialize(c.get("/api/v1/logs/search?text=nan&ignore_case=true").at("lines"));
  };
  EXPECT_TRUE(await([&] { return found().find("the loss is NaN") != std::string::npos; }));
  auto const lines = found();
  first.kill_at_once();

  for (words const& flags :
       {words{"--data-dir", data, "--cluster", "default:worker=1"}, words{"--read-only", data}}) {
    auto& again = c.serve(flags);
    EXPECT_EQ(runs(), then);
    EXPECT_NE(past().find("ECC error"), std::string::npos);
    EXPECT_EQ(jobs(), "gone");
    EXPECT_EQ(found(), lines);
    EXPECT_EQ(c.status_of("/api/v1/jobs/" + job), 404u);
    auto const report = c.file("run.html").string();
    auto const made = c.run({"postmortem", "default/1", "-o", report, "--url", c.url()});
    EXPECT_EQ(made.status, 0) << made.err;
    EXPECT_NE(read_file(report).find("ECC error"), std::string::npos);
    again.kill_at_once();
  }
}

TEST_F(history_on_disk, of_a_server_with_tokens_requires_a_token) {
  auto& first = c.serve({"--data-dir", data, "--auth", "on"});
  auto const token = read_file(fs::path(data) / "admin.token");
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait(), 0);
  c.serve({"--read-only", data});
  EXPECT_EQ(c.status_of("/api/v1/overview"), 401u);
  auto const asked = [&](std::string const& method, std::string const& path) {
    muster::http_request q;
    q.method = method;
    q.url = c.url() + path;
    q.headers.emplace_back("Authorization", "Bearer " + token.substr(0, token.find('\n')));
    if (method == "POST") q.headers.emplace_back("Content-Type", "application/json"), q.body = "{}";
    muster::http_client client;
    return client.send(q).value().status;
  };
  EXPECT_EQ(asked("GET", "/api/v1/overview"), 200u);
  EXPECT_EQ(asked("POST", "/api/v1/tokens"), 403u) << "an admin's, too";
}

TEST_F(history_on_disk, unreadable_history_does_not_prevent_a_start) {
  a_server_with_a_past().kill_at_once();
  std::ofstream(fs::path(data) / "history" / "CURRENT") << "nonsense\n";
  auto& second = c.serve({"--data-dir", data});
  EXPECT_TRUE(second.says("history_unreadable"));
  EXPECT_TRUE(fs::exists(fs::path(data) / "history.unreadable"));
  EXPECT_EQ(c.get("/api/v1/jobs/" + job).at("state"), "FAILED");
  EXPECT_TRUE(events("job_failed").empty());
}

TEST_F(history_on_disk, is_not_written_with_a_zero_byte_limit) {
  a_server_with_a_past({"--history-bytes-max", "0"}).kill_at_once();
  EXPECT_FALSE(fs::exists(fs::path(data) / "history"));
}

TEST_F(history_on_disk, flags_that_do_not_fit_are_named) {
  auto const said = [&](words flags) {
    flags.insert(flags.begin(), "serve");
    auto const f = c.run(flags);
    EXPECT_EQ(f.status, 2);
    return f.err;
  };
  EXPECT_NE(said({"--data-dir", data, "--history-bytes-max", "1KiB"})
                .find("--history-bytes-max must be at least"),
            std::string::npos);
  EXPECT_NE(said({"--history-dir", data}).find("--history-dir needs"), std::string::npos);
  EXPECT_NE(said({"--data-dir", data, "--read-only", data})
                .find("--read-only cannot be combined with --data-dir"),
            std::string::npos);
  EXPECT_NE(said({"--read-only", data, "--supervise"}).find("cannot be combined with --supervise"),
            std::string::npos);
  auto const none =
      c.run({"serve", "--read-only", c.file("nothing").string(), "--http", "127.0.0.1:0"});
  EXPECT_NE(none.status, 0);
  EXPECT_NE(none.err.find("--read-only "), std::string::npos) << none.err;
}

}  // namespace
}  // namespace muster::e2e
