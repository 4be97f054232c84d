#include "muster/tf_config_resolver.hpp"
#include "tests/cluster/fixture.hpp"

namespace muster {
namespace {

using testing::environment;
using testing::fault_of;

std::string two_jobs(std::string const& more) {
  return R"({"cluster": {"ps": ["ps0:2222", "ps1:2222"],
                         "worker": ["worker0:2222", "worker1:2222", "worker2:2222"]})" +
         more + "}";
}

constexpr auto* ps_0 = R"(, "task": {"type": "ps", "index": 0})";
constexpr auto* ps_0_grpc = R"(, "rpc_layer": "grpc", "task": {"type": "ps", "index": 0})";

tf_config_resolver resolver(std::string const& text, tf_config_resolver::overrides o = {}) {
  return tf_config_resolver(environment({{"TF_CONFIG", text}}), std::move(o));
}

TEST(TFConfigClusterResolver, testNormalClusterSpecRead) {
  EXPECT_EQ(resolver(two_jobs(ps_0)).cluster_spec().to_json(),
            R"({"ps":["ps0:2222","ps1:2222"],)"
            R"("worker":["worker0:2222","worker1:2222","worker2:2222"]})");
}

TEST(TFConfigClusterResolver, testAutomaticMasterRead) {
  EXPECT_EQ(resolver(two_jobs(ps_0)).master(), "ps0:2222");
}

TEST(TFConfigClusterResolver, testSpecifiedTaskTypeAndIndexMasterRead) {
  EXPECT_EQ(resolver(two_jobs(ps_0)).master("worker", 1), "worker1:2222");
}

TEST(TFConfigClusterResolver, testSessionMasterRead) {
  EXPECT_EQ(resolver(two_jobs(R"(, "session_master": "sessionmaster:2222")")).master(),
            "sessionmaster:2222");
}

TEST(TFConfigClusterResolver, testRpcLayerRead) {
  EXPECT_EQ(resolver(two_jobs(ps_0_grpc)).master(), "grpc://ps0:2222");
}

TEST(TFConfigClusterResolver, testTaskTypeIndexRpcRead) {
  auto r = resolver(two_jobs(ps_0_grpc));
  EXPECT_EQ(r.task_type(), "ps");
  EXPECT_EQ(r.task_id(), 0);
  EXPECT_EQ(r.rpc_layer(), "grpc");
}

TEST(TFConfigClusterResolver, testParameterOverrides) {
  tf_config_resolver::overrides o;
  o.task_type = "ps";
  o.task_id = 0;
  auto r = resolver(two_jobs(R"(, "rpc_layer": "grpc", "task": {"type": "ps", "index": 1})"), o);
  EXPECT_EQ(r.master(), "grpc://ps0:2222");
  EXPECT_EQ(r.task_type(), "ps");
  EXPECT_EQ(r.task_id(), 0);
  r.task_type("worker");
  r.task_id(1);
  r.rpc_layer("test");
  EXPECT_EQ(r.master(), "test://worker1:2222");
  EXPECT_EQ(r.task_type(), "worker");
  EXPECT_EQ(r.task_id(), 1);
  EXPECT_EQ(r.rpc_layer(), "test");
}

TEST(TFConfigClusterResolver, testTaskTypeCastToString) {
  auto r = resolver(R"({"cluster": {"123456": ["a:1", "b:1"]},
                        "task": {"type": 123456, "index": 0}})");
  EXPECT_EQ(r.task_type(), "123456");
  EXPECT_EQ(r.master(), "a:1");
}

TEST(TFConfigClusterResolver, testTaskIndexCastToInteger) {
  EXPECT_EQ(resolver(two_jobs(R"(, "task": {"type": "ps", "index": "1"})")).task_id(), 1);
}

TEST(TFConfigClusterResolver, testTaskIndexOverride) {
  tf_config_resolver::overrides o;
  o.task_id = 1;
  auto r = resolver(R"({"cluster": {"worker": ["worker0:2222", "worker1:2222"]},
                        "task": {"type": "worker", "index": "0"}})",
                    o);
  EXPECT_EQ(r.task_id(), 1);
  EXPECT_EQ(r.master(), "worker1:2222");
}

TEST(TFConfigClusterResolver, testZeroItemsInClusterSpecMasterRead) {
  auto r = resolver("{}");
  EXPECT_EQ(r.master(), "");
  EXPECT_TRUE(r.cluster_spec().empty());
}

TEST(TFConfigClusterResolver, testOneItemInClusterSpecMasterRead) {
  EXPECT_EQ(resolver(R"({"cluster": {"worker": ["worker0:2222"]}})").master(), "");
}

TEST(TFConfigClusterResolver, testNumAcceleratorsFilterTasksByEnvVar) {
  auto r = resolver(R"({"cluster": {"worker1": ["w10:2222"],
                                    "worker2": ["w21:2222", "w22:2222", "w23:2222", "w24:2222"]},
                        "rpc_layer": "grpc", "task": {"type": "worker1", "index": "0"}})");
  r.list_devices([] {
    return std::vector<std::string>{
        "/job:worker1/task:0/device:TPU:0", "/job:worker1/task:0/device:TPU:1",
        "/job:worker1/task:0/device:GPU:0", "/job:worker1/task:0/device:GPU:1",
        "/job:worker2/task:1/device:TPU:2", "/job:worker2/task:2/device:TPU:3",
        "/job:worker2/task:3/device:GPU:2", "/job:worker2/task:4/device:GPU:3"};
  });
  EXPECT_EQ(r.num_accelerators(), (std::map<std::string, int>{{"GPU", 2}, {"TPU", 2}}));
  EXPECT_EQ(r.num_accelerators("worker2", 3), (std::map<std::string, int>{{"GPU", 1}}));
}

TEST(TFConfigClusterResolver, variable_is_read_again_at_every_call) {
  auto text = std::make_shared<std::string>(two_jobs(ps_0));
  tf_config_resolver r([text](std::string const&) { return *text; });
  EXPECT_EQ(r.task_id(), 0);
  *text = two_jobs(R"(, "task": {"type": "worker", "index": 2})");
  EXPECT_EQ(r.task_id(), 2);
  EXPECT_EQ(r.master(), "worker2:2222");
}

TEST(TFConfigClusterResolver, without_the_variable_the_program_is_alone) {
  tf_config_resolver r(environment({}));
  EXPECT_TRUE(r.cluster_spec().empty());
  EXPECT_EQ(r.master(), "");
  EXPECT_EQ(r.task_type(), std::nullopt);
  EXPECT_EQ(r.rpc_layer(), "");
}

TEST(TFConfigClusterResolver, environment_is_set_only_by_the_constructor) {
  EXPECT_EQ(resolver(R"({"environment": "google"})").environment(), "");
  tf_config_resolver::overrides o;
  o.environment = "google";
  EXPECT_EQ(resolver("{}", o).environment(), "google");
}

TEST(TFConfigClusterResolver, an_evaluator_need_not_be_in_the_cluster) {
  auto r = resolver(two_jobs(R"(, "task": {"type": "evaluator", "index": 0})"));
  EXPECT_EQ(r.cluster_spec().size(), 5u);
  EXPECT_EQ(r.task_type(), "evaluator");
}

TEST(TFConfigClusterResolver, an_override_is_checked_in_place_of_the_text) {
  tf_config_resolver::overrides o;
  o.task_id = 2;
  auto const text = two_jobs(ps_0);
  EXPECT_EQ(fault_of([&] { resolver(text, o).cluster_spec(); }),
            "TF_CONFIG: task.index is 2, but job 'ps' has tasks 0 to 1");
  o.task_type = "worker";
  EXPECT_EQ(resolver(text, o).master(), "worker2:2222");
}

}  // namespace
}  // namespace muster
