#include "tests/e2e/network.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "tests/e2e/cluster.hpp"
#include "tests/support/cannot_run.hpp"

namespace muster::e2e {
namespace {

namespace json = boost::json;

struct cut_network : testing::Test {
  void SetUp() override {
    if (!net.problem().empty()) test::cannot_run("no second network here: " + net.problem());
  }
  void start(words flags) {
    flags.insert(flags.end(), {"--insecure"});
    flags.insert(flags.end(), {"--grpc", net.address() + ":0"});
    c.serve(flags);
    far_worker();
    ASSERT_TRUE(c.await_tasks(1));
  }
  void far_worker() {
    c.spawn_behind(
        {"/usr/bin/env", "ip", "netns", "exec", net.name()},
        {"worker", "--server", c.grpc(), "--index", "0", "--slots", "1", "--allow-exec"});
  }
  /// Submits a job with one step of `seconds`, which writes a line when it begins.
  std::string step(std::string const& seconds) {
    auto const script = "echo begin >> " + c.file("steps").string() + "; sleep " + seconds;
    auto const argv = json::serialize(json::array{"sh", "-c", script});
    auto const f = c.run({"submit", "muster.exec", argv, "--no-wait"});
    EXPECT_EQ(f.status, 0) << f.err;
    EXPECT_TRUE(await([&] { return begun() == 1; }));
    return f.out.substr(0, f.out.find('\n'));
  }
  std::ptrdiff_t begun() {
    auto const text = read_file(c.file("steps"));
    return std::count(text.begin(), text.end(), '\n');
  }
  json::value closure(std::string const& job) {
    return c.get("/api/v1/jobs/" + job + "/closures").at("closures").at(0);
  }
  std::string state_after(std::string const& job) {
    return std::string(c.get("/api/v1/jobs/" + job + "/join?timeout=60s").at("state").as_string());
  }

  network net;
  cluster c;
};

// The outage is shorter than the heartbeat timeout: the connection survives, or the worker
// reconnects. In both cases the running step continues and its result counts.
TEST_F(cut_network, short_outage_loses_no_work) {
  start({"--heartbeat-timeout", "12s"});
  auto const job = step("3");
  net.unplug();
  std::this_thread::sleep_for(4s);
  net.plug_in();
  EXPECT_EQ(state_after(job), "SUCCEEDED");
  EXPECT_EQ(begun(), 1) << "the closure ran twice";
  auto const attempts = closure(job).at("attempts");
  EXPECT_EQ(attempts.as_array().size(), 1u) << attempts;
}

// The outage is longer: the server considers the worker lost, and runs the step elsewhere. The
// result of the returning worker is ignored.
TEST_F(cut_network, long_outage_loses_the_worker_and_its_late_result_is_ignored) {
  start({"--heartbeat-timeout", "1500ms", "--reconnect-grace", "1s"});
  auto const job = step("2");
  net.unplug();
  ASSERT_TRUE(c.await_tasks(1, "ERROR"));
  c.worker({"--index", "1", "--slots", "1", "--allow-exec"});
  EXPECT_EQ(state_after(job), "SUCCEEDED");
  net.plug_in();
  EXPECT_TRUE(await([&] { return c.await_tasks(2); }, 60s)) << "it comes back";
  EXPECT_EQ(closure(job).at("attempts").as_array().size(), 2u);
  EXPECT_EQ(closure(job).at("attempts").at(1).at("worker").as_string(), "worker:1");
}

}  // namespace
}  // namespace muster::e2e
