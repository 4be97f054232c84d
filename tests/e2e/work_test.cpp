#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <numeric>
#include <set>
#include <sstream>

#include "tests/e2e/cluster.hpp"

namespace muster::e2e {
namespace work_cases {

namespace json = boost::json;

std::string numbers(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "[" + std::to_string(i) + "]\n";
  return text;
}

TEST(work, a_function_runs_on_a_worker_and_its_value_is_printed) {
  cluster c;
  c.serve();
  c.worker();
  auto const f = c.run({"submit", "muster.echo", "42", "--timeout", "20s"});
  EXPECT_EQ(f.status, 0) << f.err;
  EXPECT_EQ(f.out, "42\n");
}

TEST(work, arguments_are_json_if_valid_and_text_otherwise) {
  cluster c;
  c.serve();
  c.worker();
  auto const f =
      c.run({"submit", "muster.echo", "[1, 2]", "text", "{\"a\": null}", "--timeout=20s"});
  EXPECT_EQ(f.status, 0) << f.err;
  EXPECT_EQ(f.out, "[[1,2],\"text\",{\"a\":null}]\n");
}

TEST(work, failed_function_ends_submit_with_1_and_the_whole_error) {
  cluster c;
  c.serve();
  c.worker({"--index", "4"});
  auto const f = c.run({"submit", "muster.fail", "no such column", "--timeout", "20s"});
  EXPECT_EQ(f.status, 1);
  EXPECT_NE(f.err.find("no such column"), std::string::npos) << f.err;
  EXPECT_NE(f.err.find("FAILED"), std::string::npos) << f.err;
  EXPECT_NE(f.err.find("worker:4"), std::string::npos) << f.err;
}

TEST(work, a_map_of_ten_thousand_lines_keeps_their_order) {
  cluster c;
  c.serve();
  c.worker({"--slots", "2"});
  c.worker({"--slots", "2"});
  auto const input = c.write("input", numbers(10'000));
  auto const f = c.run({"submit", "muster.echo", "--map", "-", "--timeout", "60s"}, input);
  EXPECT_EQ(f.status, 0) << f.err;
  std::string expected;
  for (int i = 0; i < 10'000; ++i) expected += std::to_string(i) + "\n";
  EXPECT_EQ(f.out, expected);
}

TEST(work, full_queue_slows_the_submitter_without_losing_closures) {
  cluster c;
  c.serve({"--queue-capacity", "5000"});
  c.worker({"--slots", "2"});
  auto const input = c.write("input", numbers(20'000));
  auto const f = c.run({"submit", "muster.echo", "--map", input, "--timeout", "100s"});
  EXPECT_EQ(f.status, 0) << f.err;
  std::string expected;
  for (int i = 0; i < 20'000; ++i) expected += std::to_string(i) + "\n";
  EXPECT_TRUE(f.out == expected) << lines(f.out).size() << " lines";
}

TEST(work, queue_smaller_than_a_request_accepts_all_lines) {
  cluster c;
  c.serve({"--queue-capacity", "10"});
  c.worker({"--slots", "2"});
  auto const input = c.write("input", numbers(50));
  auto const f = c.run({"submit", "muster.echo", "--map", input, "--timeout", "60s"});
  EXPECT_EQ(f.status, 0) << f.err;
  EXPECT_EQ(lines(f.out).size(), 50u);
}

TEST(work, timeout_counts_while_the_server_has_no_room) {
  cluster c;
  c.serve({"--queue-capacity", "10"});
  auto const input = c.write("input", numbers(50));
  words submit{"submit", "muster.echo", "--map", input, "--timeout", "2500ms"};
  auto const f = c.run(submit);
  EXPECT_EQ(f.status, 1);
  auto const id = std::string(c.get("/api/v1/jobs").at("jobs").at(0).at("id").as_string());
  EXPECT_TRUE(first_line(f.err).starts_with(
      "waiting: " + id + " has 10 queued closures; the limit is 10; no worker is connected"))
      << f.err;
  EXPECT_EQ(count(f.err, "waiting: "), 1u) << f.err;
  EXPECT_NE(f.err.find("after 2s500ms the server cannot accept more closures"), std::string::npos)
      << f.err;
  EXPECT_NE(f.err.find("accepted so far: 10, and " + id + " was cancelled"), std::string::npos)
      << f.err;
  EXPECT_EQ(c.get("/api/v1/jobs/" + id).at("state").as_string(), "CANCELLED");
  submit.insert(submit.end(), {"--idempotency-key", "k", "--quiet"});
  auto const kept = c.run(submit);
  EXPECT_EQ(kept.status, 1);
  EXPECT_EQ(kept.err.find("waiting: "), std::string::npos) << kept.err;
  EXPECT_NE(kept.err.find("remains open"), std::string::npos) << kept.err;
  c.worker({"--slots", "2"});
  submit[5] = "60s";
  auto const rest = c.run(submit);
  EXPECT_EQ(rest.status, 0) << rest.err;
  EXPECT_EQ(lines(rest.out).size(), 50u);
}

TEST(work, timeout_counts_while_the_server_keeps_too_many_closures) {
  cluster c;
  c.serve({"--closures-max", "20"});
  c.worker();
  auto const twenty = c.write("twenty", numbers(20));
  EXPECT_EQ(c.run({"submit", "muster.echo", "--map", twenty, "--timeout", "20s"}).status, 0);
  auto const f = c.run({"submit", "muster.echo", "--map", twenty, "--timeout", "2500ms"});
  EXPECT_EQ(f.status, 1);
  EXPECT_EQ(first_line(f.err),
            "waiting: the server holds 20 closures; the limit is 20 (--closures-max)");
  EXPECT_NE(f.err.find("delete finished jobs"), std::string::npos) << f.err;
  auto const alerts = c.get("/api/v1/attention").at("items").as_array();
  ASSERT_EQ(alerts.size(), 1u);
  EXPECT_EQ(alerts[0].at("rule").as_string(), "closures-full");
}

TEST(work, line_that_is_not_a_list_is_named_and_cancels_the_job) {
  cluster c;
  c.serve();
  auto const input = c.write("input", "[1]\n{\"not\": \"a list\"}\n");
  auto const f = c.run({"submit", "muster.echo", "--map", input});
  EXPECT_EQ(f.status, 2);
  EXPECT_NE(f.err.find(input.string() + ":2:"), std::string::npos) << f.err;
  EXPECT_EQ(c.get("/api/v1/jobs").at("jobs").at(0).at("state").as_string(), "CANCELLED");
}

TEST(work, submit_reports_after_a_second_why_it_waits) {
  cluster c;
  c.serve();
  auto const none = c.run({"submit", "muster.echo", "1", "--timeout", "1500ms"});
  EXPECT_EQ(none.status, 1);
  EXPECT_EQ(first_line(none.err),
            "waiting: no worker is connected; start one with 'muster worker'.");
  auto const id = first_line(c.run({"submit", "muster.echo", "1", "--no-wait"}).out);
  auto const why = c.run({"explain", id});
  EXPECT_EQ(why.status, 0) << why.err;
  EXPECT_EQ(first_line(why.out), id + " is QUEUED");
  EXPECT_NE(why.out.find(": no worker is connected; start one with 'muster worker'."),
            std::string::npos)
      << why.out;
  auto const json = json::parse(c.run({"explain", id, "--output", "json"}).out);
  EXPECT_EQ(json.at("closures").at(0).at("state").as_string(), "QUEUED");
  c.worker();
  ASSERT_TRUE(c.await_tasks(1));
  auto const quiet = c.run({"submit", "no.such", "--quiet", "--timeout", "1500ms"});
  EXPECT_EQ(quiet.err.find("waiting"), std::string::npos) << quiet.err;
  auto const followed =
      c.run({"submit", "no.such", "--follow", "--output", "json", "--timeout", "1500ms"});
  EXPECT_EQ(first_line(followed.err).find("waiting: "), 0u) << followed.err;
  EXPECT_NE(followed.err.find("no.such"), std::string::npos) << followed.err;
  EXPECT_EQ(followed.out, "");
}

TEST(work, map_with_a_key_resumes_an_interrupted_submission) {
  cluster c;
  c.serve();
  c.worker();
  // The state that a killed client leaves: an open job with the first lines.
  auto const job =
      c.post("/api/v1/jobs",
             R"({"on_error":"fail_fast","open":true,"idempotency_key":"k","closures":[]})");
  c.post("/api/v1/jobs/" + std::string(job.at("id").as_string()) + "/closures",
         R"([{"function":"muster.echo","args":[0]},{"function":"muster.echo","args":[1]}])");
  auto const input = c.write("input", numbers(5));
  words const again{"submit", "muster.echo", "--map", input.string(), "--idempotency-key",
                    "k",      "--timeout",   "20s"};
  auto const f = c.run(again);
  EXPECT_EQ(f.status, 0) << f.err;
  EXPECT_EQ(f.out, "0\n1\n2\n3\n4\n");
  EXPECT_EQ(c.run(again).out, f.out) << "a complete job gets no more closures";
}

TEST(work, functions_without_values_print_no_lines) {
  cluster c;
  c.serve();
  c.worker();
  auto const input = c.write("input", "[]\n[]\n[]\n");
  auto const many = c.run({"submit", "muster.noop", "--map", input, "--timeout", "20s"});
  EXPECT_EQ(many.out, "");
  EXPECT_EQ(many.err, "3 closures succeeded, but none returned a value\n");
  EXPECT_EQ(c.run({"submit", "muster.noop", "--timeout", "20s"}).out, "null\n");
  auto const mixed = c.write("mixed", "[null]\n[null]\n[7]\n[null]\n");
  EXPECT_EQ(c.run({"submit", "muster.echo", "--map", mixed, "--timeout", "20s"}).out,
            "null\nnull\n7\nnull\n");
}

TEST(work, submit_accepts_gangs_clusters_and_metadata) {
  cluster c;
  c.serve();
  c.worker({"--slots", "2"});
  auto const input = c.write("input", numbers(2));
  auto const gang = c.run({"submit", "muster.echo", "--map", input, "--gang", "g", "--cluster",
                           "default", "--metadata", "owner=me", "--timeout", "20s"});
  EXPECT_EQ(gang.out, "0\n1\n") << gang.err;
  auto const jobs = c.get("/api/v1/jobs").at("jobs");
  auto const id = std::string(jobs.at(0).at("id").as_string());
  EXPECT_EQ(c.get("/api/v1/jobs/" + id).at("metadata").at("owner").as_string(), "me");
  auto const none = c.run({"submit", "muster.echo", "--cluster", "moon"});
  EXPECT_EQ(none.status, 1);
  EXPECT_NE(none.err.find("there is no cluster 'moon'"), std::string::npos) << none.err;
  auto const endless = first_line(c.run({"submit", "muster.sleep", "60s", "--no-wait"}).out);
  auto const cancelled = c.run({"cancel", endless, "--output", "json"});
  EXPECT_EQ(json::parse(cancelled.out).at("id").as_string(), endless) << cancelled.err;
  EXPECT_EQ(c.run({"jobs", "--limit", "0"}).status, 2);
  auto const one = c.run({"jobs", "--limit", "1"});
  EXPECT_EQ(lines(one.out).size(), 2u) << one.out;
  EXPECT_EQ(one.err, "there are more jobs; raise --limit to see them\n");
}

TEST(work, killed_worker_loses_no_closures) {
  cluster c;
  c.serve();
  auto& victim = c.worker({"--index", "0", "--slots", "2"});
  c.worker({"--index", "1", "--slots", "2"});
  ASSERT_TRUE(c.await_tasks(2));
  std::string text;
  for (int i = 0; i < 400; ++i) text += "[20]\n";
  auto const input = c.write("input", text);
  auto const id = first_line(c.run({"submit", "muster.sleep", "--map", input, "--no-wait"}).out);
  ASSERT_TRUE(c.await_count(id, "succeeded", 20));
  victim.signal(SIGKILL);
  auto const f = c.run({"fetch", id, "--output", "json", "--timeout", "60s"});
  EXPECT_EQ(f.status, 0) << f.err;

  std::set<std::int64_t> indices;
  for (auto const& line : lines(f.out)) {
    auto const result = json::parse(line);
    EXPECT_EQ(result.at("state").as_string(), "SUCCEEDED") << line;
    EXPECT_TRUE(indices.insert(result.at("index").to_number<std::int64_t>()).second) << line;
  }
  EXPECT_EQ(indices.size(), 400u);
  EXPECT_EQ(*indices.rbegin(), 399);
  EXPECT_GT(c.get("/api/v1/jobs/" + id).at("put_back").to_number<int>(), 0);

  auto const tasks = c.run({"tasks"});
  EXPECT_EQ(tasks.status, 0) << tasks.err;
  EXPECT_NE(tasks.out.find("worker:0  ERROR"), std::string::npos) << tasks.out;
  EXPECT_NE(tasks.out.find("worker:1  CONNECTED"), std::string::npos) << tasks.out;
}

TEST(work, frozen_worker_is_lost_by_heartbeat_and_reconnects) {
  cluster c;
  c.serve({"--heartbeat-timeout", "1500ms"});
  auto& worker = c.worker({"--index", "0"});
  ASSERT_TRUE(c.await_tasks(1));
  worker.signal(SIGSTOP);
  EXPECT_TRUE(c.await_tasks(1, "LATE"));
  EXPECT_TRUE(c.await_tasks(1, "ERROR"));
  c.worker({"--index", "1"});
  auto const f = c.run({"submit", "muster.echo", "1", "--timeout", "20s"});
  EXPECT_EQ(f.out, "1\n") << f.err;
  worker.signal(SIGCONT);
  EXPECT_TRUE(c.await_tasks(2));
}

TEST(work, worker_started_before_the_server_connects_later) {
  cluster c;
  c.serve().signal(SIGKILL);  // only to find two free ports
  c.worker({"--index", "7"});
  c.serve();
  EXPECT_TRUE(c.await_tasks(1));
  EXPECT_EQ(c.tasks().at(0).at("index").to_number<int>(), 7);
}

TEST(work, worker_reconnects_to_a_restarted_server) {
  cluster c;
  auto& first = c.serve();
  c.worker({"--index", "0"});
  ASSERT_TRUE(c.await_tasks(1));
  first.signal(SIGKILL);
  ASSERT_TRUE(first.wait());
  c.serve();
  EXPECT_TRUE(c.await_tasks(1));
  auto const f = c.run({"submit", "muster.echo", "\"again\"", "--timeout", "20s"});
  EXPECT_EQ(f.out, "\"again\"\n") << f.err;
}

TEST(work, stopped_worker_finishes_its_closures) {
  cluster c;
  c.serve();
  auto& worker = c.worker({"--slots", "1", "--credits", "1"});
  ASSERT_TRUE(c.await_tasks(1));
  auto const id = first_line(c.run({"submit", "muster.sleep", "500", "--no-wait"}).out);
  ASSERT_TRUE(c.await_count(id, "running", 1));
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait(), 0) << worker.errors();
  EXPECT_EQ(c.get("/api/v1/jobs/" + id).at("state").as_string(), "SUCCEEDED");
  EXPECT_TRUE(c.await_tasks(1, "DISCONNECTED"));
}

TEST(work, a_second_signal_makes_a_worker_leave_at_once) {
  cluster c;
  c.serve();
  auto& worker = c.worker({"--slots", "1"});
  ASSERT_TRUE(c.await_tasks(1));
  auto const id = first_line(c.run({"submit", "muster.sleep", "60000", "--no-wait"}).out);
  ASSERT_TRUE(c.await_count(id, "running", 1));
  worker.signal(SIGTERM);
  ASSERT_TRUE(await([&] { return c.tasks().at(0).at("draining").as_bool(); }));
  worker.signal(SIGTERM);
  EXPECT_TRUE(worker.wait(5s));
  EXPECT_TRUE(c.await_count(id, "queued", 1)) << "the closure was not returned";
}

TEST(verbs, jobs_cancel_and_explain_describe_a_waiting_job) {
  cluster c;
  c.serve();
  auto const id = first_line(c.run({"submit", "muster.echo", "1", "--no-wait", "--name", "w"}).out);
  auto const list = c.run({"jobs"});
  EXPECT_NE(list.out.find(id), std::string::npos) << list.out << list.err;
  EXPECT_NE(list.out.find("QUEUED"), std::string::npos)
      << "no closure of the job runs: " << list.out;
  EXPECT_EQ(c.get("/api/v1/jobs/" + id).at("state").as_string(), "QUEUED");
  auto const closures = c.get("/api/v1/jobs/" + id + "/closures");
  auto const closure = std::string(closures.at("closures").at(0).at("id").as_string());
  auto const why = c.run({"explain", closure});
  EXPECT_EQ(why.status, 0) << why.err;
  EXPECT_NE(why.out.find("no worker"), std::string::npos) << why.out;
  EXPECT_EQ(c.run({"fetch", id, "--timeout", "100ms"}).status, 1);
  EXPECT_EQ(c.run({"cancel", id}).status, 0);
  EXPECT_EQ(c.run({"fetch", id, "--timeout", "20s"}).status, 1) << "a cancelled job is no success";
  auto const one = c.run({"jobs", id});
  EXPECT_NE(one.out.find("CANCELLED"), std::string::npos) << one.out << one.err;
}

TEST(verbs, fetch_prints_one_value) {
  cluster c;
  c.serve();
  c.worker();
  auto const id = first_line(c.run({"submit", "muster.echo", "\"v\"", "--no-wait"}).out);
  auto const closures = c.get("/api/v1/jobs/" + id + "/closures");
  auto const value = std::string(closures.at("closures").at(0).at("remote_value").as_string());
  auto const f = c.run({"fetch", value, "--timeout", "20s"});
  EXPECT_EQ(f.status, 0) << f.err;
  EXPECT_EQ(f.out, "\"v\"\n");
}

TEST(verbs, listings_can_be_json) {
  cluster c;
  c.serve();
  for (auto const* verb : {"jobs", "tasks"}) {
    auto const f = c.run({verb, "--output", "json"});
    EXPECT_EQ(f.status, 0) << f.err;
    EXPECT_EQ(f.out, "[]\n");
  }
}

TEST(verbs, unreachable_server_is_exit_status_3_with_advice) {
  cluster c;
  auto& server = c.serve();
  server.kill_at_once();
  for (auto const& words : {words{"jobs"}, words{"tasks"}, words{"submit", "muster.echo"}}) {
    auto const f = c.run(words);
    EXPECT_EQ(f.status, 3) << f.err;
    EXPECT_EQ(lines(f.err).size(), 1u) << f.err;
    EXPECT_NE(f.err.find("muster serve"), std::string::npos) << f.err;
  }
}

TEST(verbs, unknown_id_is_exit_status_1) {
  cluster c;
  c.serve();
  EXPECT_EQ(c.run({"jobs", "job_999"}).status, 1);
  EXPECT_EQ(c.run({"fetch", "rv_999", "--timeout", "1s"}).status, 1);
  EXPECT_EQ(c.run({"cancel", "cl_999"}).status, 1);
  EXPECT_EQ(c.run({"explain", "cl_999"}).status, 1);
  EXPECT_EQ(c.run({"cancel", "nonsense"}).status, 1);
  EXPECT_EQ(c.run({"cancel", ""}).status, 2) << "it must not select a job without a name";
  EXPECT_EQ(c.run({"submit", "no.such.function", "--require-function"}).status, 1);
}

}  // namespace work_cases
}  // namespace muster::e2e
