// Test names are TensorFlow's; comments mark deliberate differences.
#include "launch/cluster/http/tpu_devices.hpp"
#include "tests/cluster/http/tpu_fixture.hpp"

namespace muster::testing {
namespace {

using code = cluster_error::code;

class tpu_conformance : public tpu {};

constexpr auto old_format =
    R"({"ipAddress":"10.1.2.3","port":"8470","state":"READY","health":"HEALTHY"})";

TEST_F(tpu_conformance, testRetrieveProjectAndZoneFromMetadata) {
  node("n", old_format);
  auto r = coordinated("10.128.1.5:10203");
  EXPECT_EQ(r.cluster_spec(), spec_of({{"coordinator", {{0, "10.128.1.5:10203"}}},
                                       {"worker", {{0, "10.1.2.3:8470"}}}}));
  EXPECT_EQ(r.master(), "grpc://10.1.2.3:8470");
  EXPECT_EQ(asked("/computeMetadata/v1/project/project-id"), 1u);
  EXPECT_EQ(asked("/computeMetadata/v1/instance/zone"), 1u);
}

TEST_F(tpu_conformance, testRetrieveProjectAndZoneFromMetadataNoCoordinator) {
  node("n", old_format);
  auto r = resolver();
  EXPECT_EQ(r.cluster_spec(), spec_of({{"worker", {{0, "10.1.2.3:8470"}}}}));
  EXPECT_EQ(r.master(), "grpc://10.1.2.3:8470");
}

TEST_F(tpu_conformance, testNotReadyCloudTpu) {
  node("n", R"({"ipAddress":"10.1.2.3","port":"8470","state":"CREATING"})");
  auto r = resolver();
  EXPECT_EQ(fault_of([&] { r.cluster_spec(); }, code::not_ready),
            "TPU \"n\" is not yet ready; state: \"CREATING\"");
}

TEST_F(tpu_conformance, testSimpleSuccessfulRetrieval) {
  node("n", old_format);
  auto r = coordinated("10.128.1.5:10203");
  EXPECT_EQ(r.cluster_spec().task_address("worker", 0), "10.1.2.3:8470");
}

TEST_F(tpu_conformance, testFailedMetadata) {
  auto r = resolver();
  auto const line = fault_of([&] { r.cluster_spec(); }, code::missing);
  EXPECT_EQ(line.find("Could not lookup TPU metadata from name \"n\": GET " + url()), 0u) << line;
}

TEST_F(tpu_conformance, testNewNetworkEndpointFormat) {
  node("n", ready(endpoints({"10.2.3.4"})));
  auto r = coordinated("10.128.1.5:10203");
  EXPECT_EQ(r.cluster_spec(), spec_of({{"coordinator", {{0, "10.128.1.5:10203"}}},
                                       {"worker", {{0, "10.2.3.4:8470"}}}}));
  EXPECT_EQ(r.master(), "grpc://10.2.3.4:8470");
}

TEST_F(tpu_conformance, testPodResolution) {
  node("n", ready(endpoints({"10.2.3.4", "10.2.3.5", "10.2.3.6", "10.2.3.7"})));
  auto r = coordinated("10.128.1.5:10203");
  auto const spec = r.cluster_spec();
  EXPECT_EQ(spec.task_address("coordinator", 0), "10.128.1.5:10203");
  EXPECT_EQ(spec.num_tasks("worker"), 4u);
  EXPECT_EQ(spec.task_address("worker", 3), "10.2.3.7:8470");
  EXPECT_EQ(r.master(), "grpc://10.2.3.4:8470");
}

TEST_F(tpu_conformance, testPodResolutionNoCoordinator) {
  node("n", ready(endpoints({"10.2.3.4", "10.2.3.5", "10.2.3.6", "10.2.3.7"})));
  auto r = resolver();
  EXPECT_EQ(r.cluster_spec().jobs(), (names{"worker"}));
  EXPECT_EQ(r.master(), "grpc://10.2.3.4:8470");
}

TEST_F(tpu_conformance, testGetMasterNoEntries) {
  node("n", ready(R"("networkEndpoints":[])"));
  auto r = resolver();
  auto const line = fault_of([&] { r.master(); }, code::missing);
  EXPECT_TRUE(holds(line, "No TPUs with the specified names exist")) << line;
  // Passes an empty name list.
  EXPECT_EQ(fault_of([&] { resolver(names{}); }), "At least one TPU must be specified.");
}

TEST_F(tpu_conformance, testShouldResolveGrpc) {
  EXPECT_FALSE(resolver(names{"grpc://10.1.2.3:8470"}).tpu().name().by_api());
}

TEST_F(tpu_conformance, testShouldResolveName) {
  EXPECT_TRUE(resolver(names{"mytpu"}).tpu().name().by_api());
}

TEST_F(tpu_conformance, testShouldResolveList) {
  EXPECT_TRUE(resolver(names{"myothertpu"}).tpu().name().by_api());
}

TEST_F(tpu_conformance, testShouldResolveGrpcPrefix) {
  EXPECT_TRUE(resolver(names{"grpctpu"}).tpu().name().by_api());
}

TEST_F(tpu_conformance, testNoCallComputeMetadata) {
  auto r = resolver(names{"grpc://10.1.2.3:8470"});
  EXPECT_EQ(r.cluster_spec(), spec_of({{"worker", {{0, "10.1.2.3:8470"}}}}));
  EXPECT_EQ(r.master(), "grpc://10.1.2.3:8470");
  EXPECT_TRUE(server_.seen().empty());
}

TEST_F(tpu_conformance, testGkeEnvironmentForDonut) {
  tpu_resolver r(machine({{"KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS", "grpc://10.120.27.5:8470"}}),
                 with(std::nullopt));
  EXPECT_EQ(r.cluster_spec(), spec_of({{"worker", {{0, "10.120.27.5:8470"}}}}));
  EXPECT_EQ(r.master(), "grpc://10.120.27.5:8470");
  EXPECT_TRUE(server_.seen().empty());
}

TEST_F(tpu_conformance, testGkeEnvironmentForPod) {
  tpu_resolver r(machine({{"KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS",
                           "grpc://10.120.27.5:8470,grpc://10.120.27.6:8470,"
                           "grpc://10.120.27.7:8470,grpc://10.120.27.8:8470"}}),
                 with(std::nullopt));
  auto const spec = r.cluster_spec();
  EXPECT_EQ(spec.num_tasks("worker"), 4u);
  EXPECT_EQ(spec.task_address("worker", 3), "10.120.27.8:8470");
  EXPECT_EQ(r.master(), "grpc://10.120.27.5:8470");
}

TEST_F(tpu_conformance, testRpcDetectionForGrpcString) {
  auto r = resolver(names{"grpc://10.1.2.3:8470"});
  EXPECT_EQ(r.rpc_layer(), "grpc");
  EXPECT_EQ(r.environment(), "");
  EXPECT_EQ(r.master(), "grpc://10.1.2.3:8470");
}

TEST_F(tpu_conformance, testOverrideTaskTypeAndIndexAndGetMaster) {
  node("n", ready(endpoints({"10.2.3.4", "10.2.3.5", "10.2.3.6", "10.2.3.7"})));
  auto r = coordinated("10.128.1.5:10203");
  EXPECT_EQ(r.task_type(), "worker");
  EXPECT_EQ(r.task_id(), 0);
  EXPECT_EQ(r.master(), "grpc://10.2.3.4:8470");
  r.task_type("worker");
  r.task_id(3);
  EXPECT_EQ(r.master(), "grpc://10.2.3.7:8470");
  EXPECT_EQ(r.master("worker", 2, "test"), "test://10.2.3.6:8470");
  r.task_type("coordinator");
  r.task_id(0);
  EXPECT_EQ(r.master(), "grpc://10.128.1.5:10203");
  r.task_type({});
  EXPECT_EQ(r.master(), "grpc://10.2.3.4:8470");
}

TEST_F(tpu_conformance, testGetDeviceDictAndCoresWithTPUs) {
  auto const found = cluster::find_tpu_devices(
      {"/job:tpu_worker/task:0/device:TPU:0", "/job:tpu_worker/task:1/device:TPU:1",
       "/job:tpu_worker/task:2/device:TPU:0", "/job:tpu_worker/task:3/device:TPU:1",
       "/job:tpu_worker/task:0/device:TPU:4", "/job:tpu_worker/task:1/device:TPU:5",
       "/job:tpu_worker/task:2/device:TPU:4", "/job:tpu_worker/task:3/device:TPU:5"});
  EXPECT_EQ(found.total, 8);
  EXPECT_EQ(found.cores_of_host,
            (std::map<int, std::vector<int>>{{0, {0, 4}}, {1, {1, 5}}, {2, {0, 4}}, {3, {1, 5}}}));
}

TEST_F(tpu_conformance, testGetDeviceDictAndCoresWithCPUsAndGPUs) {
  auto const found = cluster::find_tpu_devices(
      {"/job:tpu_worker/task:0/device:CPU:0", "/job:tpu_worker/task:1/device:CPU:0",
       "/job:tpu_worker/task:0/device:GPU:1", "/job:tpu_worker/task:1/device:GPU:1"});
  EXPECT_EQ(found.total, 0);
  EXPECT_TRUE(found.cores_of_host.empty());
}

TEST_F(tpu_conformance, testVerifySameCoreCount) {
  EXPECT_EQ((cluster::tpu_devices{{{0, {0, 1, 2, 3, 4, 5, 6, 7}}}, 8}.per_host()), 8);
  EXPECT_EQ((cluster::tpu_devices{{{0, {0, 1}}, {1, {0, 1}}}, 4}.per_host()), 2);
  EXPECT_EQ(fault_of([] {
              cluster::tpu_devices{{{0, {0}}, {1, {1, 2}}}, 3}.per_host();
            }),
            "hosts have different numbers of TPU cores: task 0 has 1, task 1 has 2");
}

TEST_F(tpu_conformance, testNumAcceleratorsSuccess) {
  node("n", ready(endpoints({"10.2.3.4", "10.2.3.5", "10.2.3.6", "10.2.3.7"})));
  auto r = resolver();
  r.list_devices([] {
    return names{"/job:tpu_worker/task:0/device:TPU:0", "/job:tpu_worker/task:1/device:TPU:1",
                 "/job:tpu_worker/task:2/device:TPU:0", "/job:tpu_worker/task:3/device:TPU:1",
                 "/job:tpu_worker/task:0/device:TPU:4", "/job:tpu_worker/task:1/device:TPU:5",
                 "/job:tpu_worker/task:2/device:TPU:4", "/job:tpu_worker/task:3/device:TPU:5"};
  });
  EXPECT_EQ(r.num_accelerators(), (std::map<std::string, int>{{"TPU", 2}}));
}

TEST_F(tpu_conformance, testNumAcceleratorsRetryFailure) {
  auto r = resolver();
  int tries = 0;
  r.list_devices([&]() -> names {
    ++tries;
    throw cluster_error(code::unreachable, "deadline exceeded");
  });
  auto const line = fault_of([&] { r.num_accelerators(); }, code::unreachable);
  EXPECT_TRUE(holds(line, "Failed to connect to master")) << line;
  EXPECT_TRUE(holds(line, "deadline exceeded")) << line;
  EXPECT_EQ(tries, tpu_resolver::device_tries_max);
}

}  // namespace
}  // namespace muster::testing
