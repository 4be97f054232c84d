#include <gtest/gtest.h>

#include "tests/e2e/cluster.hpp"
#include "tests/support/http_service.hpp"

namespace muster::e2e {
namespace {

using test::http_reply;
using test::http_seen;
using test::http_service;

std::string pods(int running) {
  std::string items;
  for (int i = 0; i < 2; ++i)
    items += std::string(i ? "," : "") + R"({"metadata":{"name":"train-)" + std::to_string(9 + i) +
             R"("},"spec":{},"status":{"phase":")" + (i < running ? "Running" : "Pending") +
             R"(","podIP":"10.0.0.)" + std::to_string(i + 1) + R"("}})";
  return R"({"items":[)" + items + "]}";
}

class resolve_in_a_pod : public ::testing::Test {
 protected:
  finished run(http_service const& api, words more) {
    more.insert(more.begin(),
                {"resolve", "kubernetes:selector=app=train;tasks=2;service_account=" +
                                std::filesystem::path(c_.file("token")).parent_path().string()});
    c_.write("ca.crt", authority_.pem());
    c_.write("namespace", "ml");
    c_.write("token", "secret");
    return c_.run(more, {},
                  {{"KUBERNETES_SERVICE_HOST", "127.0.0.1"},
                   {"KUBERNETES_SERVICE_PORT", std::to_string(api.port())},
                   {"HOSTNAME", "train-10"}});
  }

  cluster c_;
  test::authority authority_;
};

TEST_F(resolve_in_a_pod, waits_until_the_pods_run_and_finds_its_own_task) {
  http_service const api(
      test::one_by_one({{200, pods(0)}, {200, pods(1)}, {503, ""}, {200, pods(2)}}),
      {"127.0.0.1", authority_.issue()});
  auto const spec = run(api, {"--wait", "--timeout", "2m"});
  EXPECT_EQ(spec.status, 0) << spec.err;
  EXPECT_EQ(spec.out, "{\"worker\":[\"10.0.0.1:8470\",\"10.0.0.2:8470\"]}\n");
  EXPECT_NE(spec.err.find("Pod \"train-9\" is not running; phase: \"Pending\""), std::string::npos)
      << spec.err;
  EXPECT_EQ(api.seen().at(0).headers.at("authorization"), "Bearer secret");
  auto const own = run(api, {"--task", "--master", "--output", "table"});
  EXPECT_EQ(own.out,
            "task         worker:1\nmaster       grpc://10.0.0.2:8470\nenvironment  none\n")
      << own.err;
}

TEST_F(resolve_in_a_pod, error_is_one_line_with_an_exit_status) {
  http_service const refusing(
      [](http_seen const&) {
        return http_reply{403, R"({"message":"no"})"};
      },
      {"127.0.0.1", authority_.issue()});
  auto const denied = run(refusing, {});
  EXPECT_EQ(denied.status, 1);
  EXPECT_NE(denied.err.find("allow the account to list pods in namespace ml"), std::string::npos)
      << denied.err;
  http_service const stranger([](http_seen const&) { return http_reply{}; },
                              {"127.0.0.1", test::self_signed()});
  auto const untrusted = run(stranger, {"--wait"});
  EXPECT_EQ(untrusted.status, 1);
  EXPECT_NE(untrusted.err.find("the server's certificate was rejected: self-signed"),
            std::string::npos)
      << untrusted.err;
}

// Serves the API of a TPU over plain HTTP on this host. The given token makes a metadata server
// unnecessary.
class resolve_a_tpu : public ::testing::Test {
 protected:
  finished run(http_service const& api, words more, std::string const& keys = {}) {
    more.insert(more.begin(),
                {"resolve", "tpu:name=n;project=p;zone=z;api_url=" + api.url() +
                                ";token_file=" + c_.write("token", "t").string() + keys});
    return c_.run(more);
  }
  static http_reply node(std::string const& health, std::string const& state = "READY") {
    return {200, R"({"state":")" + state + R"(","health":")" + health +
                     R"(","acceleratorType":"v3-16","runtimeVersion":"tpu-vm",)" +
                     R"("networkEndpoints":[{"ipAddress":"10.0.0.1","port":8470},)" +
                     R"({"ipAddress":"10.0.0.2","port":8470}]})"};
  }

  cluster c_;
};

TEST_F(resolve_a_tpu, health_is_printed_and_sets_the_exit_status) {
  http_service const well([](http_seen const&) { return node("HEALTHY"); });
  auto const json = run(well, {"--health"});
  EXPECT_EQ(json.status, 0) << json.err;
  EXPECT_EQ(json.out, R"({"name":"n","state":"READY","health":"HEALTHY","health_description":"",)"
                      R"("recoverable":true,"accelerator_type":"v3-16","runtime_version":"tpu-vm",)"
                      R"("endpoints":["10.0.0.1:8470","10.0.0.2:8470"]})"
                      "\n");
  http_service const ill([](http_seen const&) { return node("TIMEOUT", "PREEMPTED"); });
  auto const table = run(ill, {"--health", "--output", "table"});
  EXPECT_EQ(table.status, 1);
  EXPECT_EQ(table.out,
            "tpu          n\nstate        PREEMPTED\nhealth       TIMEOUT\nbecause      none\n"
            "recoverable  no\naccelerator  v3-16\nruntime      tpu-vm\nendpoints    2\n");
}

TEST_F(resolve_a_tpu, healthy_tpu_that_is_not_ready_has_exit_status_1) {
  for (auto const state : {"CREATING", "PREEMPTED", "TERMINATED"}) {
    http_service const api([state](http_seen const&) { return node("HEALTHY", state); });
    EXPECT_EQ(run(api, {"--health"}).status, 1) << state;
    auto const waited =
        run(api, {"--wait-healthy", "--health", "--interval", "10ms", "--timeout", "50ms"});
    EXPECT_EQ(waited.status, 1) << state;
    EXPECT_EQ(waited.out, "") << state;
  }
  http_service const no_state([](http_seen const&) { return node("HEALTHY", ""); });
  EXPECT_EQ(run(no_state, {"--health"}).status, 0) << "older APIs have no state";
}

TEST_F(resolve_a_tpu, time_limit_has_a_unit_and_devices_of_addresses_are_counted) {
  http_service const api([](http_seen const&) { return node("HEALTHY"); });
  EXPECT_EQ(run(api, {"--health"}, ";time_limit=20s").status, 0);
  EXPECT_EQ(run(api, {"--health"}, ";time_limit=20").status, 0);
  auto const wrong = run(api, {"--health"}, ";time_limit=2h");
  EXPECT_EQ(wrong.status, 2);
  EXPECT_NE(wrong.err.find("time_limit: '2h' is not a time from 1s to 1h"), std::string::npos)
      << wrong.err;
  auto const devices =
      c_.write("devices",
               "/job:worker/task:0/device:TPU:0\n/job:worker/task:0/device:TPU:1\n"
               "/job:worker/task:1/device:TPU:0\n/job:worker/task:1/device:TPU:1\n");
  EXPECT_EQ(c_.run({"resolve", "tpu:name=grpc://10.0.0.1,10.0.0.2", "--accelerators", "--devices",
                    devices.string()})
                .out,
            "{\"TPU\":2}\n");
}

TEST_F(resolve_a_tpu, wait_healthy_waits_until_the_tpu_is_healthy) {
  http_service const api(test::one_by_one({node("TIMEOUT"), node("TIMEOUT"), node("HEALTHY")}));
  auto const spec = run(api, {"--wait-healthy", "--interval", "10ms", "--timeout", "1m"});
  EXPECT_EQ(spec.status, 0) << spec.err;
  EXPECT_EQ(spec.out, "{\"worker\":[\"10.0.0.1:8470\",\"10.0.0.2:8470\"]}\n");
  http_service const ill([](http_seen const&) { return node("TIMEOUT"); });
  auto const late = run(ill, {"--wait-healthy", "--interval", "10ms", "--timeout", "50ms"});
  EXPECT_EQ(late.status, 1);
  EXPECT_EQ(late.out, "");
  EXPECT_NE(late.err.find("Timed out waiting for TPU \"n\" to become healthy"), std::string::npos)
      << late.err;
}

TEST_F(resolve_a_tpu, counts_accelerators_and_names_the_coordinator) {
  http_service const api([](http_seen const&) { return node("HEALTHY"); });
  EXPECT_EQ(run(api, {"--accelerators"}).out, "{\"TPU\":8}\n");
  EXPECT_EQ(run(api, {"--accelerators", "--output", "table"}).out, "KIND  COUNT\nTPU       8\n");
  auto const keys = ";coordinator_name=main;coordinator_address=10.0.0.9";
  EXPECT_EQ(run(api, {"--coordinator"}, keys).out,
            "{\"coordinator\":\"10.0.0.9:8476\",\"leader\":\"/job:worker/task:0\"}\n");
  EXPECT_EQ(run(api, {"--coordinator", "--output", "table"}, keys).out,
            "coordinator  10.0.0.9:8476\nleader       /job:worker/task:0\n");
  http_service const empty([](http_seen const&) {
    return http_reply{200, R"({"state":"READY","health":"HEALTHY","acceleratorType":"v3-16"})"};
  });
  auto const unknown = run(empty, {"--accelerators"});
  EXPECT_EQ(unknown.status, 1);
  EXPECT_NE(unknown.err.find(
                "TPU \"n\" has no network endpoints, so the number of cores per host is unknown"),
            std::string::npos)
      << unknown.err;
  auto const none = run(api, {"--coordinator"});
  EXPECT_EQ(none.status, 1);
  EXPECT_NE(none.err.find("coordinator_name=NAME"), std::string::npos) << none.err;
}

TEST_F(resolve_a_tpu, invalid_options_and_timeouts_have_distinct_exit_statuses) {
  http_service const api([](http_seen const&) { return node("HEALTHY"); });
  EXPECT_EQ(run(api, {"--health", "--accelerators"}).status, 2);
  EXPECT_EQ(run(api, {"--health", "--watch"}).status, 2);
  EXPECT_EQ(c_.run({"resolve", "simple:{\"worker\":[\"a:1\"]}", "--health"}).status, 2);
  EXPECT_EQ(c_.run({"resolve", "tpu:name=grpc://10.0.0.1", "--wait-healthy"}).status, 2);
  EXPECT_EQ(c_.run({"resolve", "simple:{\"worker\":[\"a:1\"]}", "--coordinator"}).out,
            "{\"coordinator\":\"a:1\",\"leader\":\"/job:worker/replica:0/task:0\"}\n");
  EXPECT_EQ(c_.run({"resolve",
                    "tpu:name=n;project=p;zone=z;api_url=http://127.0.0.1:1;token_file=" +
                        c_.write("token", "t").string(),
                    "--health"})
                .status,
            3);
}

}  // namespace
}  // namespace muster::e2e
