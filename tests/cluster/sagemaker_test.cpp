#include "muster/sagemaker_resolver.hpp"
#include "tests/cluster/fixture.hpp"

namespace muster {
namespace {

using testing::environment;
using testing::fault_of;

environment_lookup step(std::string const& hosts, std::string const& current) {
  return environment({{"SM_HOSTS", hosts}, {"SM_CURRENT_HOST", current}});
}

TEST(sagemaker, hosts_are_workers_in_the_order_of_their_names) {
  sagemaker_resolver r(step(R"(["algo-2", "algo-1"])", "algo-2"));
  EXPECT_EQ(r.cluster_spec().to_json(), R"({"worker":["algo-1:2223","algo-2:2223"]})");
  EXPECT_EQ(r.task_type(), "worker");
  EXPECT_EQ(r.task_id(), 1);
  EXPECT_EQ(r.master(), "algo-2:2223");
  EXPECT_EQ(r.master("worker", 0, "grpc"), "grpc://algo-1:2223");
}

TEST(sagemaker, port_and_task_can_be_given) {
  tf_config_resolver::overrides o;
  o.task_id = 0;
  o.rpc_layer = "grpc";
  sagemaker_resolver r(step(R"(["a", "b"])", "b"), 99, o);
  EXPECT_EQ(r.master(), "grpc://a:99");
  EXPECT_EQ(fault_of([] { sagemaker_resolver(environment({}), 65536); }),
            "port: 65536, must be between 1 and 65535");
}

TEST(sagemaker, a_single_host_needs_no_master) {
  EXPECT_EQ(sagemaker_resolver(step(R"(["a"])", "a")).master(), "");
}

TEST(sagemaker, unlisted_host_is_alone) {
  sagemaker_resolver r(step(R"(["a", "b"])", "c"));
  EXPECT_TRUE(r.cluster_spec().empty());
  EXPECT_EQ(r.task_id(), std::nullopt);
}

TEST(sagemaker, missing_variables_are_named) {
  auto const missing = cluster_error::code::missing;
  EXPECT_EQ(fault_of([] { sagemaker_resolver(environment({})).cluster_spec(); }, missing),
            "SM_HOSTS is not set: this process is not in a SageMaker training job");
  EXPECT_EQ(fault_of(
                [] {
                  sagemaker_resolver(environment({{"SM_HOSTS", "[]"}})).cluster_spec();
                },
                missing),
            "SM_CURRENT_HOST is not set: this process is not in a SageMaker training job");
}

TEST(sagemaker, malformed_hosts_are_refused) {
  auto const fault = [](char const* hosts) {
    return fault_of([&] { sagemaker_resolver(step(hosts, "a")).cluster_spec(); });
  };
  EXPECT_EQ(fault("a,b"), "SM_HOSTS: not JSON at line 1, column 1: syntax error");
  EXPECT_EQ(fault("{}"),
            "SM_HOSTS: the value is an object, not a list of host names, such as [\"algo-1\", "
            "\"algo-2\"]");
  EXPECT_EQ(fault(R"(["a", 1])"),
            "SM_HOSTS: entry 1 is not a host name, such as [\"algo-1\", \"algo-2\"]");
  EXPECT_EQ(fault(R"(["a", "a"])"), "SM_HOSTS: 'a' is listed twice");
}

}  // namespace
}  // namespace muster
