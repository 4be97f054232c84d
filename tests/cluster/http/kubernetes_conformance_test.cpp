// Test names are TensorFlow's; comments mark deliberate differences.
#include "tests/cluster/http/kubernetes_fixture.hpp"

namespace muster::testing {
namespace {

class kubernetes_conformance : public kubernetes {};

constexpr auto default_selector = "job-name=tensorflow";

kubernetes_resolver::options default_options(kubernetes_resolver::options o) {
  o.jobs = kubernetes_resolver::options().jobs;
  return o;
}

TEST_F(kubernetes_conformance, testSingleItemSuccessfulRetrievalInCluster) {
  serve({{default_selector, {{"tensorflow-abc123", "Running", "10.1.2.3"}}}}, true);
  kubernetes_resolver r(environment({{"KUBERNETES_SERVICE_HOST", "127.0.0.1"},
                                     {"KUBERNETES_SERVICE_PORT", std::to_string(server_->port())}}),
                        default_options(options({})));
  EXPECT_EQ(r.cluster_spec(), spec_of({{"worker", {{0, "10.1.2.3:8470"}}}}));
}

TEST_F(kubernetes_conformance, testSingleItemSuccessfulRetrievalOffCluster) {
  serve({{default_selector, {{"tensorflow-abc123", "Running", "10.1.2.3"}}}}, false);
  auto r = off(server_->url(), {{"worker", {default_selector}}});
  EXPECT_EQ(r.cluster_spec(), spec_of({{"worker", {{0, "10.1.2.3:8470"}}}}));
}

TEST_F(kubernetes_conformance, testValueErrorRaisedOnInvalidExecutableLocation) {
  using location = kubernetes_resolver::location;
  EXPECT_EQ(kubernetes_resolver::parse_location("within-cluster"), location::within_cluster);
  EXPECT_EQ(kubernetes_resolver::parse_location("off-cluster"), location::off_cluster);
  EXPECT_EQ(kubernetes_resolver::parse_location("auto"), location::automatic);
  EXPECT_EQ(fault_of([] { kubernetes_resolver::parse_location("elsewhere"); }),
            "location is 'elsewhere', not auto, within-cluster or off-cluster");
}

TEST_F(kubernetes_conformance, testSuccessfulRetrievalWithSort) {
  serve({{default_selector,
          {{"tensorflow-abc123", "Running", "10.1.2.3"},
           {"tensorflow-def456", "Running", "10.1.2.4"},
           {"tensorflow-999999", "Running", "10.1.2.5"}}}},
        false);
  auto r = off(server_->url(), {{"worker", {default_selector}}});
  EXPECT_EQ(
      r.cluster_spec(),
      spec_of({{"worker", {{0, "10.1.2.5:8470"}, {1, "10.1.2.3:8470"}, {2, "10.1.2.4:8470"}}}}));
}

TEST_F(kubernetes_conformance, testGetMasterWithOverrideParameters) {
  serve({{default_selector, {{"tensorflow-abc123", "Running", "10.1.2.3"}}}}, false);
  auto r = off(server_->url(), {{"worker", {default_selector}}});
  EXPECT_EQ(r.master(), "");  // the task is not set
  r.task_type("worker");
  r.task_id(0);
  EXPECT_EQ(r.task_type(), "worker");
  EXPECT_EQ(r.task_id(), 0);
  EXPECT_EQ(r.master(), "grpc://10.1.2.3:8470");
  EXPECT_EQ(r.master("worker", 0, "test"), "test://10.1.2.3:8470");
}

TEST_F(kubernetes_conformance, testNonRunningPod) {
  serve({{default_selector, {{"tensorflow-abc123", "Failed", "10.1.2.3"}}}}, false);
  auto r = off(server_->url(), {{"worker", {default_selector}}});
  EXPECT_EQ(fault_of([&] { r.cluster_spec(); }, cluster_error::code::not_ready),
            "Pod \"tensorflow-abc123\" is not running; phase: \"Failed\"");
}

TEST_F(kubernetes_conformance, testMultiplePodSelectorsAndWorkers) {
  serve({{"job-name=tensorflow-1",
          {{"tensorflow-abc123", "Running", "10.1.2.3"},
           {"tensorflow-def456", "Running", "10.1.2.4"},
           {"tensorflow-999999", "Running", "10.1.2.5"}}},
         {"job-name=tensorflow-2", {{"tensorflow-aaa", "Running", "10.1.2.6"}}},
         {"job-name=tensorflow-ps", {{"tensorflow-ps-0", "Running", "10.1.2.7"}}}},
        false);
  auto r = off(server_->url(), {{"ps", {"job-name=tensorflow-ps"}},
                                {"worker", {"job-name=tensorflow-1", "job-name=tensorflow-2"}}});
  EXPECT_EQ(r.cluster_spec(), spec_of({{"ps", {{0, "10.1.2.7:8470"}}},
                                       {"worker",
                                        {{0, "10.1.2.5:8470"},
                                         {1, "10.1.2.3:8470"},
                                         {2, "10.1.2.4:8470"},
                                         {3, "10.1.2.6:8470"}}}}));
}

}  // namespace
}  // namespace muster::testing
