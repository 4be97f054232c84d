// Test names are TensorFlow's. Not ported: testHandlesByteStrings; C++ has one type of string.
#include "tests/cluster/http/tpu_fixture.hpp"

namespace muster::testing {
namespace {

using code = cluster_error::code;

class tpu_client_conformance : public tpu {
 protected:
  static constexpr auto now = "2026-11-21T10:00:00Z";

  void SetUp() override {
    time_.wall(std::chrono::sys_days(std::chrono::year(2026) / 11 / 21) + 10h);
  }
  void symptom(std::string const& type, std::chrono::seconds age) {
    auto const at = std::chrono::system_clock::to_time_t(
        std::chrono::sys_days(std::chrono::year(2026) / 11 / 21) + 10h - age);
    char text[40];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S.123456Z", std::gmtime(&at));
    node("n", ready(endpoints({"10.2.3.4"}) +
                    R"(,"symptoms":[{"symptomType":"LOW_MEMORY","createTime":"2026-11-21T10:00:00Z",
                    "workerId":"0"},{"symptomType":")" +
                    type + R"(","createTime":")" + text + R"(","workerId":"1"}])"));
  }
  bool recovers(bool runtime = true, bool hbm = true) {
    auto o = client_with(names{"n"});
    o.runtime_oom_exit = runtime;
    o.hbm_oom_exit = hbm;
    return cluster::cloud_tpu_client(machine(), o).recoverable();
  }
};

TEST_F(tpu_client_conformance, testNetworkEndpointsNotReadyWithApi) {
  node("n", R"({"state":"CREATING"})");
  auto c = client();
  EXPECT_EQ(fault_of([&] { c.endpoints(); }, code::not_ready),
            "TPU \"n\" is not yet ready; state: \"CREATING\"");
}

TEST_F(tpu_client_conformance, testInitializeNoArgumentsWithEnvironmentVariable) {
  cluster::cloud_tpu_client by_name(machine({{"TPU_NAME", "tpu_name"}}), client_with(std::nullopt));
  EXPECT_EQ(by_name.name().name, "tpu_name");
  cluster::cloud_tpu_client by_config(
      machine({{"TPU_CONFIG", R"({"project":"p","zone":"z","tpu_node_name":"tpu_name"})"}}),
      client_with(std::nullopt));
  reply(node_path("tpu_name", "p", "z"), {200, ready(endpoints({"10.2.3.4"}))});
  EXPECT_EQ(by_config.endpoints(), (names{"10.2.3.4:8470"}));
  cluster::cloud_tpu_client by_kube(
      machine(
          {{"KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS", "grpc://10.0.0.1:8470"}, {"TPU_NAME", "tpu_name"}}),
      client_with(std::nullopt));
  EXPECT_EQ(by_kube.endpoints(), (names{"10.0.0.1:8470"}));
}

TEST_F(tpu_client_conformance, testInitializeTpuName) {
  auto c = client(names{"tpu_name"});
  EXPECT_EQ(c.name().name, "tpu_name");
  EXPECT_TRUE(c.name().by_api());
}

TEST_F(tpu_client_conformance, testInitializeIpAddress) {
  auto c = client(names{"grpc://1.2.3.4:8470"});
  EXPECT_EQ(c.endpoints(), (names{"1.2.3.4:8470"}));
  EXPECT_FALSE(c.name().by_api());
}

TEST_F(tpu_client_conformance, testInitializeWithoutMetadata) {
  auto o = client_with(names{"n"});
  o.project = "p";
  o.zone = "z";
  reply(node_path("n", "p", "z"), {200, ready(endpoints({"10.2.3.4"}))});
  cluster::cloud_tpu_client c(machine(), o);
  EXPECT_EQ(c.endpoints(), (names{"10.2.3.4:8470"}));
  EXPECT_EQ(asked("/computeMetadata/v1/project"), 0u);
  EXPECT_EQ(asked("/computeMetadata/v1/instance/zone"), 0u);
}

TEST_F(tpu_client_conformance, testRecoverableNoApiAccess) {
  EXPECT_TRUE(client(names{"grpc://1.2.3.4:8470"}).recoverable());
}

TEST_F(tpu_client_conformance, testRecoverableNoState) {
  node("n", R"({"health":"HEALTHY"})");
  EXPECT_TRUE(recovers());
}

TEST_F(tpu_client_conformance, testRecoverableReady) {
  node("n", R"({"state":"READY"})");
  EXPECT_TRUE(recovers());
}

TEST_F(tpu_client_conformance, testRecoverablePreempted) {
  node("n", R"({"state":"PREEMPTED"})");
  EXPECT_FALSE(recovers());
  node("n", R"({"state":"TERMINATED"})");
  EXPECT_FALSE(recovers());
}

TEST_F(tpu_client_conformance, testRecoverableOOM) {
  symptom("OUT_OF_MEMORY", 89s);
  EXPECT_FALSE(recovers());
  symptom("OUT_OF_MEMORY", 91s);
  EXPECT_TRUE(recovers());
}

TEST_F(tpu_client_conformance, testRecoverableOOMDisabled) {
  symptom("OUT_OF_MEMORY", 1s);
  EXPECT_TRUE(recovers(false, true));
}

TEST_F(tpu_client_conformance, testRecoverableOOMNoAPI) {
  symptom("OUT_OF_MEMORY", 1s);
  EXPECT_TRUE(client(names{"grpc://1.2.3.4:8470"}).recoverable());
}

TEST_F(tpu_client_conformance, testRecoverableHBMOOM) {
  symptom("HBM_OUT_OF_MEMORY", 0s);
  EXPECT_FALSE(recovers());
  symptom("HBM_OUT_OF_MEMORY", 100s);
  EXPECT_TRUE(recovers());
}

TEST_F(tpu_client_conformance, testRecoverableHBMOOMDisabled) {
  symptom("HBM_OUT_OF_MEMORY", 1s);
  EXPECT_TRUE(recovers(true, false));
}

TEST_F(tpu_client_conformance, testRecoverableHBMOOMNoAPI) {
  symptom("HBM_OUT_OF_MEMORY", 1s);
  EXPECT_TRUE(client(names{"grpc://1.2.3.4:8470"}).recoverable());
}

TEST_F(tpu_client_conformance, testHealthApi) {
  node("n", ready(R"("health":"HEALTHY",)" + endpoints({"10.2.3.4"})));
  EXPECT_EQ(client().health(), "HEALTHY");
}

TEST_F(tpu_client_conformance, testRuntimeVersionApi) {
  node("n", ready(R"("tensorflowVersion":"2.1")"));
  EXPECT_EQ(client().runtime_version(), "2.1");
  node("n", ready(R"("runtimeVersion":"tpu-vm-tf-2.16.1")"));
  EXPECT_EQ(client().runtime_version(), "tpu-vm-tf-2.16.1");
}

TEST_F(tpu_client_conformance, testAcceleratorTypeApi) {
  node("n", ready(R"("acceleratorType":"v3-8")"));
  EXPECT_EQ(client().accelerator_type(), "v3-8");
}

TEST_F(tpu_client_conformance, testWaitForHealthy) {
  replies(node_path("n"), {{200, R"({"state":"READY","health":"UNHEALTHY_MAINTENANCE"})"},
                           {200, R"({"state":"READY","health":"TIMEOUT"})"},
                           {200, R"({"state":"READY","health":"HEALTHY"})"}});
  client().wait_for_healthy();
  EXPECT_EQ(time_.waits(), (std::vector<std::chrono::milliseconds>{30s, 30s}));
}

TEST_F(tpu_client_conformance, testWaitForHealthyRaisesError) {
  node("n", R"({"state":"READY","health":"UNHEALTHY_MAINTENANCE"})");
  auto c = client();
  EXPECT_EQ(fault_of([&] { c.wait_for_healthy(80s); }, code::not_ready),
            "Timed out waiting for TPU \"n\" to become healthy; health: \"UNHEALTHY_MAINTENANCE\", "
            "state: \"READY\"");
  EXPECT_EQ(time_.waits(), (std::vector<std::chrono::milliseconds>{30s, 30s, 20s}));
}

TEST_F(tpu_client_conformance, testConfigureTpuVersion) {
  auto o = client_with(names{"grpc://127.0.0.1:8470,127.0.0.1:8471"});
  o.version_port = server_.port();
  reply("/requestversion/1.15?restartType=always", {200, ""});
  cluster::cloud_tpu_client(machine(), o).configure_version("1.15");
  ASSERT_EQ(server_.seen().size(), 2u);
  EXPECT_EQ(last().method, "POST");
}

TEST_F(tpu_client_conformance, testConfigureTpuVersionRestartIfneeded) {
  auto o = client_with(names{"grpc://127.0.0.1:8470"});
  o.version_port = server_.port();
  reply("/requestversion/1.15?restartType=ifNeeded", {200, ""});
  cluster::cloud_tpu_client(machine(), o)
      .configure_version("1.15", cluster::cloud_tpu_client::restart::if_needed);
  EXPECT_EQ(server_.seen().size(), 1u);
}

TEST_F(tpu_client_conformance, testGetTpuVersion) {
  auto o = client_with(names{"grpc://127.0.0.1:8470"});
  o.version_port = server_.port();
  reply("/requestversion", {200, R"({"currentVersion":"2.4"})"});
  EXPECT_EQ(cluster::cloud_tpu_client(machine(), o).current_version(), "2.4");
  reply("/requestversion", {404, ""});
  EXPECT_EQ(cluster::cloud_tpu_client(machine(), o).current_version(), std::nullopt);
}

}  // namespace
}  // namespace muster::testing
