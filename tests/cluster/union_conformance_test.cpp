#include "muster/simple_resolver.hpp"
#include "muster/union_resolver.hpp"
#include "tests/cluster/fixture.hpp"

namespace muster {
namespace union_conformance_cases {

using testing::fault_of;

cluster_spec from(char const* text) {
  return cluster_spec::from_json(text);
}

cluster_spec ps_and_workers() {
  return from(R"({"ps": ["ps0:2222", "ps1:2222"],
                  "worker": ["worker0:2222", "worker1:2222", "worker2:2222"]})");
}

std::shared_ptr<simple_resolver> simple(cluster_spec spec, simple_resolver::options o = {}) {
  return std::make_shared<simple_resolver>(std::move(spec), std::move(o));
}

simple_resolver::options ps_1() {
  simple_resolver::options o;
  o.task_type = "ps";
  o.task_id = 1;
  o.environment = "cloud";
  o.num_accelerators = {{"GPU", 8}};
  o.rpc_layer = "grpc";
  return o;
}

std::string merged(char const* one, char const* other) {
  return union_resolver({simple(from(one)), simple(from(other))}).cluster_spec().to_json();
}

struct base_resolver : cluster_resolver {
  muster::cluster_spec cluster_spec() override { return {}; }
};

TEST(BaseClusterResolver, testNumAcceleratorsSuccess) {
  base_resolver r;
  EXPECT_TRUE(r.num_accelerators().empty());
  r.list_devices([] {
    return std::vector<std::string>{
        "/job:worker/task:0/device:GPU:0", "/job:worker/task:0/device:GPU:1",
        "/job:worker/task:0/device:GPU:2", "/job:worker/task:0/device:GPU:3",
        "/job:worker/task:0/device:CPU:0", "/job:worker/task:0/device:XLA_CPU:0"};
  });
  EXPECT_EQ(r.num_accelerators(), (std::map<std::string, int>{{"GPU", 4}}));
}

TEST(BaseClusterResolver, testNumAcceleratorsFilterSuccess) {
  base_resolver r;
  r.list_devices([] {
    return std::vector<std::string>{
        "/job:worker/task:1/device:TPU:0", "/job:worker/replica:0/task:1/device:TPU:1",
        "/job:worker/replica:0/task:10/device:TPU:2", "/job:workers/task:1/device:TPU:3",
        "/job:ps/task:1/device:GPU:0"};
  });
  EXPECT_EQ(r.num_accelerators("worker", 1), (std::map<std::string, int>{{"TPU", 2}}))
      << "task 1 is not task 10";
  EXPECT_EQ(r.num_accelerators("worker"), (std::map<std::string, int>{{"GPU", 1}, {"TPU", 4}}));
}

TEST(UnionClusterResolver, testSingleClusterResolver) {
  EXPECT_EQ(union_resolver({simple(ps_and_workers())}).cluster_spec(), ps_and_workers());
}

TEST(UnionClusterResolver, testInitSimpleClusterResolver) {
  simple_resolver r(ps_and_workers(), ps_1());
  EXPECT_EQ(r.task_type(), "ps");
  EXPECT_EQ(r.task_id(), 1);
  EXPECT_EQ(r.environment(), "cloud");
  EXPECT_EQ(r.num_accelerators(), (std::map<std::string, int>{{"GPU", 8}}));
  EXPECT_EQ(r.rpc_layer(), "grpc");
}

TEST(UnionClusterResolver, testOverrideSimpleClusterResolver) {
  simple_resolver r(ps_and_workers(), ps_1());
  r.task_type("worker");
  r.task_id(2);
  r.rpc_layer("http");
  EXPECT_EQ(r.task_type(), "worker");
  EXPECT_EQ(r.task_id(), 2);
  EXPECT_EQ(r.rpc_layer(), "http");
}

TEST(UnionClusterResolver, testSimpleOverrideMasterWithTaskIndexZero) {
  EXPECT_EQ(simple(ps_and_workers())->master("worker", 0, "grpc"), "grpc://worker0:2222");
}

TEST(UnionClusterResolver, testSimpleOverrideMasterWithRpcLayer) {
  EXPECT_EQ(simple(ps_and_workers())->master("worker", 2, "grpc"), "grpc://worker2:2222");
}

TEST(UnionClusterResolver, testSimpleOverrideMaster) {
  EXPECT_EQ(simple(ps_and_workers())->master("worker", 2), "worker2:2222");
}

TEST(UnionClusterResolver, simple_resolver_returns_its_given_master) {
  simple_resolver::options o;
  o.master = "m:1";
  EXPECT_EQ(simple(ps_and_workers(), o)->master(), "m:1");
  o.rpc_layer = "grpc";
  EXPECT_EQ(simple(ps_and_workers(), o)->master("worker"), "grpc://m:1");
  o.master = "";
  EXPECT_EQ(simple(ps_and_workers(), o)->master(), "");
}

TEST(UnionClusterResolver, testUnionClusterResolverGetProperties) {
  simple_resolver::options second;
  second.task_type = "worker";
  second.task_id = 2;
  second.environment = "local";
  second.num_accelerators = {{"GPU", 16}};
  second.rpc_layer = "http";
  union_resolver u({simple(ps_and_workers(), ps_1()), simple(ps_and_workers(), second)});
  EXPECT_EQ(u.task_type(), "ps");
  EXPECT_EQ(u.task_id(), 1);
  EXPECT_EQ(u.environment(), "cloud");
  EXPECT_EQ(u.num_accelerators(), (std::map<std::string, int>{{"GPU", 8}}));
  EXPECT_EQ(u.rpc_layer(), "grpc");
  u.task_type("worker");
  u.task_id(2);
  u.rpc_layer("http");
  EXPECT_EQ(u.task_type(), "worker");
  EXPECT_EQ(u.task_id(), 2);
  EXPECT_EQ(u.rpc_layer(), "http");
}

TEST(UnionClusterResolver, overrides_with_zero_and_empty_values_apply) {
  union_resolver::overrides o;
  o.task_id = 0;
  o.rpc_layer = "";
  union_resolver u({simple(ps_and_workers(), ps_1())}, o);
  EXPECT_EQ(u.task_id(), 0);
  EXPECT_EQ(u.task_type(), "ps");
  EXPECT_EQ(u.master("ps", 0), "ps0:2222");
}

TEST(UnionClusterResolver, testTwoNonOverlappingJobMergedClusterResolver) {
  EXPECT_EQ(merged(R"({"ps": ["ps0:2222", "ps1:2222"]})", R"({"worker": ["w0:2222"]})"),
            R"({"ps":["ps0:2222","ps1:2222"],"worker":["w0:2222"]})");
}

TEST(UnionClusterResolver, testMergedClusterResolverMaster) {
  union_resolver u({simple(from(R"({"ps": ["ps0:2222", "ps1:2222"]})")),
                    simple(from(R"({"worker": ["worker0:2222", "worker1:2222"]})"))});
  EXPECT_EQ(u.master(), "");
  EXPECT_EQ(u.master("worker", 1), "worker1:2222");
  EXPECT_EQ(u.master("worker", 1, "grpc"), "grpc://worker1:2222");
}

TEST(UnionClusterResolver, testOverlappingJobMergedClusterResolver) {
  EXPECT_EQ(merged(R"({"worker": ["w4", "w5"]})", R"({"worker": ["w0", "w1", "w2"]})"),
            R"({"worker":["w4","w5","w0","w1","w2"]})");
}

TEST(UnionClusterResolver, testOverlappingSparseJobMergedClusterResolverThrowError) {
  EXPECT_EQ(fault_of([] {
              merged(R"({"worker": {"7": "w4", "9": "w5"}})",
                     R"({"worker": {"3": "w0", "7": "w2"}})");
            }),
            "job 'worker', task 7 is defined by two resolvers ('w4' and 'w2'); indices of a sparse "
            "job must differ");
}

TEST(UnionClusterResolver, testOverlappingDictAndListThrowError) {
  EXPECT_NE(fault_of([] {
              merged(R"({"worker": ["w4", "w5"]})", R"({"worker": {"1": "w0", "2": "w1"}})");
            }).find("task 1 is defined by two resolvers"),
            std::string::npos);
}

TEST(UnionClusterResolver, testOverlappingJobNonOverlappingKey) {
  EXPECT_EQ(
      merged(R"({"worker": {"5": "w4", "9": "w5"}})", R"({"worker": {"3": "w0", "6": "w1"}})"),
      R"({"worker":{"3":"w0","5":"w4","6":"w1","9":"w5"}})");
}

TEST(UnionClusterResolver, testMixedModeNonOverlappingKey) {
  EXPECT_EQ(merged(R"({"worker": ["w4", "w5"]})", R"({"worker": {"3": "w0", "6": "w1"}})"),
            R"({"worker":{"0":"w4","1":"w5","3":"w0","6":"w1"}})");
}

TEST(UnionClusterResolver, testRetainSparseJobWithNoMerging) {
  auto const sparse = from(R"({"worker": {"1": "w0", "3": "w1", "5": "w2"}})");
  EXPECT_EQ(union_resolver({simple(sparse)}).cluster_spec(), sparse);
}

TEST(UnionClusterResolver, an_empty_job_is_kept) {
  EXPECT_EQ(merged(R"({"worker": {}})", R"({"worker": ["w0"], "ps": {}})"),
            R"({"ps":{},"worker":["w0"]})");
}

TEST(UnionClusterResolver, empty_list_and_null_resolver_are_rejected) {
  EXPECT_EQ(fault_of([] { union_resolver u({}); }), "a union needs at least one resolver");
  EXPECT_EQ(fault_of([] { union_resolver u({nullptr}); }),
            "a union of resolvers contains a null resolver");
}

}  // namespace union_conformance_cases
}  // namespace muster
