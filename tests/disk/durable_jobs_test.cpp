#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <thread>

#include "tests/e2e/cluster.hpp"

namespace muster::e2e {
namespace {

namespace json = boost::json;

std::string id_of(json::value const& job) {
  return std::string(job.at("id").as_string());
}

std::string value_of(cluster& c, json::value const& closure) {
  return c.text("/api/v1/remote_values/" + std::string(closure.at("remote_value").as_string()) +
                "/value?timeout=20s");
}

json::value closure(cluster& c, json::value const& job, std::size_t n) {
  return c.get("/api/v1/closures/" + id_of(job.at("closures").at(n)));
}

// Returns the fields that survive a restart. The number of missing inputs of a failed closure does
// not.
std::string lasting(json::value closure) {
  closure.as_object().erase("inputs_missing");
  return json::serialize(closure);
}

TEST(durable_jobs, survive_kill_9_and_unfinished_closures_run) {
  cluster c;
  auto const data = c.file("data").string();
  auto& first = c.serve({"--data-dir", data});
  auto& worker = c.worker({"--slots", "2"});
  auto const ended = c.post("/api/v1/jobs", R"({"name":"first","on_error":"continue","closures":[
      {"function":"muster.echo","args":[{"a":1}]},
      {"function":"muster.fail","args":["no such column"]},
      {"function":"muster.echo","args":[{"$remote_value":"#1"}]}],"metadata":{"who":"me"}})");
  ASSERT_TRUE(c.await_count(id_of(ended), "succeeded", 1));
  ASSERT_TRUE(c.await_count(id_of(ended), "failed", 2));
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait(), 0);
  auto const value = std::string(ended.at("closures").at(0).at("remote_value").as_string());
  auto const keyed = R"({"name":"second","idempotency_key":"once","closures":[
      {"function":"muster.echo","args":[{"$remote_value":")" +
                     value + R"("}],"options":{"priority":3}},
      {"function":"muster.echo","args":[{"$remote_value":"#0"}]}]})";
  auto const waiting = c.post("/api/v1/jobs", keyed);
  auto const not_kept = c.post(
      "/api/v1/jobs", R"({"durable":false,"closures":[{"function":"muster.echo","args":[1]}]})");
  auto const job_before = c.get("/api/v1/jobs/" + id_of(ended));
  EXPECT_EQ(job_before.at("durable"), true);
  std::vector<std::string> before;
  for (std::size_t n = 0; n < 3; ++n) before.push_back(lasting(closure(c, ended, n)));
  first.kill_at_once();

  auto& second = c.serve({"--data-dir", data});
  EXPECT_TRUE(second.says("jobs=2 closures=5"));
  EXPECT_EQ(c.get("/api/v1/jobs/" + id_of(ended)), job_before);
  for (std::size_t n = 0; n < 3; ++n) EXPECT_EQ(lasting(closure(c, ended, n)), before[n]);
  EXPECT_EQ(c.status_of("/api/v1/jobs/" + id_of(not_kept)), 404u);
  EXPECT_EQ(closure(c, waiting, 0).at("state"), "QUEUED");
  EXPECT_EQ(closure(c, waiting, 0).at("priority"), 3);
  EXPECT_EQ(closure(c, waiting, 1).at("state"), "BLOCKED");
  EXPECT_EQ(id_of(c.post("/api/v1/jobs", keyed)), id_of(waiting));
  muster::http_request different;
  different.method = "POST";
  different.url = c.url() + "/api/v1/jobs";
  different.body = R"({"idempotency_key":"once","closures":[]})";
  auto const refused = muster::http_client().send(different);
  EXPECT_TRUE(refused && refused->status == 422) << "the server remembers the request of the key";
  c.worker();
  ASSERT_TRUE(c.await_count(id_of(waiting), "succeeded", 2));
  EXPECT_EQ(value_of(c, waiting.at("closures").at(1)), "{\"a\":1}");
  // A deleted job stays deleted, and a new job gets a new id.
  muster::http_request forget;
  forget.method = "DELETE";
  forget.url = c.url() + "/api/v1/jobs/" + id_of(ended);
  muster::http_client client;
  EXPECT_EQ(client.send(forget).value().status, 204u);
  second.kill_at_once();
  c.serve({"--data-dir", data});
  EXPECT_EQ(c.status_of("/api/v1/jobs/" + id_of(ended)), 404u);
  EXPECT_EQ(c.get("/api/v1/jobs/" + id_of(waiting)).at("state"), "SUCCEEDED");
  auto const third =
      c.post("/api/v1/jobs", R"({"closures":[{"function":"muster.echo","args":[1]}]})");
  EXPECT_GT(id_of(third), id_of(waiting));
}

TEST(durable_jobs, nothing_accepted_is_lost_however_often_the_server_is_killed) {
  cluster c;
  auto const data = c.file("data").string();
  std::vector<std::string> accepted;
  process* server = &c.serve({"--data-dir", data});
  c.worker({"--slots", "4"});  // it reconnects by itself
  for (int round = 0; round < 4; ++round) {
    std::atomic<int> done = 0;
    std::thread killer([&] {
      await([&] { return done >= 15; });
      server->signal(SIGKILL);
    });
    for (;;) {
      auto const n = std::to_string(accepted.size());
      auto const f = c.run({"submit", "muster.echo", n, "--no-wait"});
      if (f.status != 0) break;
      accepted.push_back(f.out.substr(0, f.out.find('\n')));
      ++done;
    }
    killer.join();
    EXPECT_TRUE(server->wait().has_value());
    server = &c.serve({"--data-dir", data});
  }
  EXPECT_GE(accepted.size(), 60u);
  for (std::size_t n = 0; n < accepted.size(); ++n) {
    ASSERT_TRUE(c.await_count(accepted[n], "succeeded", 1)) << accepted[n];
    auto const page = c.get("/api/v1/jobs/" + accepted[n] + "/closures");
    EXPECT_EQ(value_of(c, page.at("closures").at(0)), std::to_string(n));
  }
}

TEST(durable_jobs, a_clean_stop_loses_nothing_and_blames_no_closure) {
  cluster c;
  auto const data = c.file("data").string();
  process* server = &c.serve({"--data-dir", data, "--max-worker-failures", "1"});
  c.worker();
  auto const job =
      c.post("/api/v1/jobs", R"({"closures":[{"function":"muster.sleep","args":["700ms"]},
                                             {"function":"muster.echo","args":[2]}]})");
  ASSERT_TRUE(c.await_count(id_of(job), "running", 1));
  server->signal(SIGTERM);
  EXPECT_EQ(server->wait(), 0);
  c.serve({"--data-dir", data, "--max-worker-failures", "1"});
  EXPECT_TRUE(c.await_count(id_of(job), "succeeded", 2))
      << c.text("/api/v1/jobs/" + id_of(job)) << c.text("/api/v1/jobs/" + id_of(job) + "/closures");
}

TEST(durable_jobs, running_closure_continues_when_its_worker_returns) {
  cluster c;
  auto const data = c.file("data").string();
  words const flags{"--data-dir", data, "--heartbeat-timeout", "6s"};
  auto& first = c.serve(flags);
  c.worker();
  ASSERT_TRUE(c.await_tasks(1));
  auto const job =
      c.post("/api/v1/jobs", R"({"closures":[{"function":"muster.sleep","args":["10s"]}]})");
  // The cluster, the job, and the start of its closure.
  ASSERT_TRUE(await(
      [&] { return c.get("/api/v1/overview").at("durable").at("changes").to_number<int>() >= 3; }));
  first.kill_at_once();
  auto& second = c.serve(flags);
  ASSERT_TRUE(c.await_tasks(1));
  EXPECT_EQ(closure(c, job, 0).at("state"), "RUNNING");
  ASSERT_TRUE(c.await_count(id_of(job), "succeeded", 1));
  auto const ended = closure(c, job, 0);
  ASSERT_EQ(ended.at("attempts").as_array().size(), 1u) << json::serialize(ended);
  EXPECT_EQ(ended.at("attempts").at(0).at("attempt"), 1);
  second.kill_at_once();
  c.serve(flags);
  EXPECT_EQ(c.get("/api/v1/jobs/" + id_of(job)).at("state"), "SUCCEEDED");
}

// It has run for less than a second, so its worker is not recorded yet.
TEST(durable_jobs, new_closure_continues_if_its_worker_returns_first) {
  cluster c;
  auto const data = c.file("data").string();
  auto& first = c.serve({"--data-dir", data});
  c.worker({"--slots", "1", "--allow-exec"});
  ASSERT_TRUE(c.await_tasks(1));
  auto const trace = c.file("trace").string();
  auto const job = c.post("/api/v1/jobs",
                          R"({"closures":[{"function":"muster.exec","args":[["/bin/sh","-c",
      "echo ran >> )" + trace +
                              R"(; sleep 2"]]}]})");
  ASSERT_TRUE(await([&] { return std::filesystem::exists(trace); }));
  first.kill_at_once();
  c.serve({"--data-dir", data});
  ASSERT_TRUE(c.await_count(id_of(job), "succeeded", 1));
  EXPECT_EQ(read_file(trace), "ran\n") << "once";
}

// The worker finishes during the outage.
TEST(durable_jobs, closure_that_ends_during_the_outage_is_answered_afterwards) {
  cluster c;
  auto const data = c.file("data").string();
  auto& first = c.serve({"--data-dir", data});
  c.worker({"--slots", "2", "--allow-exec"});
  ASSERT_TRUE(c.await_tasks(1));
  auto const trace = c.file("trace").string();
  auto const job = c.post("/api/v1/jobs",
                          R"({"closures":[{"function":"muster.exec","args":[["/bin/sh","-c",
      "echo began >> )" + trace +
                              R"(; sleep 0.7; echo ended >> )" + trace + R"("]]}]})");
  ASSERT_TRUE(await([&] { return std::filesystem::exists(trace); }));
  first.kill_at_once();
  ASSERT_TRUE(await([&] { return read_file(trace) == "began\nended\n"; }));
  c.serve({"--data-dir", data});
  ASSERT_TRUE(c.await_count(id_of(job), "succeeded", 1));
  EXPECT_EQ(read_file(trace), "began\nended\n") << "once";
}

TEST(durable_jobs, per_worker_values_without_a_session_survive_on_their_worker) {
  cluster c;
  auto const data = c.file("data").string();
  auto& first = c.serve({"--data-dir", data});
  c.worker();
  ASSERT_TRUE(c.await_tasks(1));
  auto const value =
      std::string(c.post("/api/v1/per_worker_values", R"({"function":"muster.echo","args":[7]})")
                      .at("id")
                      .as_string());
  auto const gone =
      std::string(c.post("/api/v1/per_worker_values", R"({"function":"muster.echo","args":[8]})")
                      .at("id")
                      .as_string());
  muster::http_request forget;
  forget.method = "DELETE";
  forget.url = c.url() + "/api/v1/per_worker_values/" + gone;
  EXPECT_EQ(muster::http_client().send(forget).value().status, 204u);
  first.kill_at_once();
  auto& second = c.serve({"--data-dir", data});
  EXPECT_TRUE(second.says("jobs=0 "));
  EXPECT_EQ(c.status_of("/api/v1/per_worker_values/" + gone), 404u);
  auto const job = c.post("/api/v1/jobs", R"({"closures":[{"function":"muster.echo","args":[
      {"$per_worker":")" + value + R"("}]}]})");
  ASSERT_TRUE(c.await_count(id_of(job), "succeeded", 1));
  EXPECT_EQ(value_of(c, job.at("closures").at(0)), "7");
}

TEST(durable_jobs, interrupted_upload_resumes_at_its_offset) {
  cluster c;
  auto const data = c.file("data").string();
  auto& first = c.serve({"--data-dir", data});
  constexpr int lines = 200'000;
  std::string text;
  for (int n = 0; n < lines; ++n) text += "[" + std::to_string(n) + "]\n";
  auto const input = c.write("lines", text);
  auto& upload = c.spawn({"submit", "muster.echo", "--map", input.string(), "--no-wait"},
                         {{"MUSTER_URL", c.url()}});
  ASSERT_TRUE(await([&] {
    return c.get("/api/v1/overview").at("closures").at("queued").to_number<int>() > lines / 4;
  }));
  first.kill_at_once();
  c.serve({"--data-dir", data});
  EXPECT_EQ(upload.wait(), 0) << upload.errors();
  auto const id = upload.output().substr(0, upload.output().find('\n'));
  auto const job = c.get("/api/v1/jobs/" + id);
  EXPECT_EQ(job.at("counts").at("total").to_number<int>(), lines);
  EXPECT_EQ(job.at("open"), false);
  auto const last = c.get("/api/v1/jobs/" + id + "/closures?sort=index&order=desc&limit=1");
  EXPECT_EQ(last.at("closures").at(0).at("args"), (json::value{lines - 1}));
}

TEST(durable_jobs, waiting_command_continues_with_the_restarted_server) {
  cluster c;
  auto const data = c.file("data").string();
  auto& first = c.serve({"--data-dir", data});
  c.worker();
  auto& waiting = c.spawn({"submit", "muster.sleep", "3s", "--quiet"}, {{"MUSTER_URL", c.url()}});
  ASSERT_TRUE(await([&] {
    return c.get("/api/v1/overview").at("closures").at("running").to_number<int>() == 1;
  }));
  first.kill_at_once();
  c.serve({"--data-dir", data});
  EXPECT_EQ(waiting.wait(), 0) << waiting.errors();
  EXPECT_TRUE(waiting.says("does not answer; waiting for it"));
}

TEST(durable_jobs, are_refused_without_a_data_directory) {
  cluster c;
  c.serve();
  auto const f = c.run({"submit", "muster.echo", "1", "--durable", "--no-wait"});
  EXPECT_EQ(f.status, 1);
  EXPECT_NE(f.err.find("--data-dir"), std::string::npos) << f.err;
}

}  // namespace
}  // namespace muster::e2e
