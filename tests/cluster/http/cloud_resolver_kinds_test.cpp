#include "muster/cloud_resolver_kinds.hpp"

#include "tests/cluster/http/kubernetes_fixture.hpp"
#include "tests/cluster/http/tpu_fixture.hpp"

namespace muster::testing {
namespace {

using code = cluster_error::code;

std::string fault(std::string const& text, code expected = code::invalid) {
  return fault_of([&] { all_resolver_kinds().make(text, environment({}))->cluster_spec(); },
                  expected);
}

class kubernetes_kind : public kubernetes {
 protected:
  cluster_spec resolve(std::string const& keys) {
    resolver_kinds kinds;
    add_cloud_resolver_kinds(kinds, time_.source());
    return kinds.make("kubernetes:server=" + server_->url() + keys, environment({}))
        ->cluster_spec();
  }
};

TEST_F(kubernetes_kind, takes_selectors_of_one_job_or_of_several) {
  serve({{"app=x,role in (a,b)", {{"p-10", "Running", "10.0.0.1"}, {"p-9", "Running", "10.0.0.2"}}},
         {"y=1", {{"q-0", "Running", "10.0.0.3"}}}},
        false);
  EXPECT_EQ(resolve(";selector=app=x,role in (a,b)"),
            spec_of({{"worker", {{0, "10.0.0.2:8470"}, {1, "10.0.0.1:8470"}}}}));
  EXPECT_EQ(resolve(";selector=app=x,role in (a,b);order=text;job=ps;port=1;host_ip=true"),
            spec_of({{"ps", {{0, "10.1.0.1:1"}, {1, "10.1.0.1:1"}}}}));
  EXPECT_EQ(
      resolve(R"j(;jobs={"worker": ["app=x,role in (a,b)"], "ps": "y=1"};namespace=ml)j").to_json(),
      R"({"ps":["10.0.0.3:8470"],"worker":["10.0.0.2:8470","10.0.0.1:8470"]})");
  EXPECT_EQ(server_->seen().back().path(), "/api/v1/namespaces/ml/pods");
}

TEST_F(kubernetes_kind, takes_a_server_with_its_token_and_authority) {
  serve({{"app=x", {{"p-0", "Running", "10.0.0.1"}}}}, true);
  auto const account = account_.path();
  EXPECT_EQ(resolve(";selector=app=x;token_file=" + account + "/token;ca_file=" + account +
                    "/ca.crt;location=off-cluster")
                .size(),
            1u);
  EXPECT_EQ(server_->seen().back().headers.at("authorization"), "Bearer first-token");
  EXPECT_EQ(resolve(";selector=app=x;insecure=true").size(), 1u);
  EXPECT_TRUE(holds(fault_of([&] { resolve(";selector=app=x"); }, code::denied), "certificate"));
}

TEST(cloud_kinds, wrong_keys_are_named) {
  EXPECT_EQ(fault("kubernetes:location=moon"),
            "location is 'moon', not auto, within-cluster or off-cluster");
  EXPECT_TRUE(holds(fault("kubernetes:order=up"), "neither natural nor text"));
  EXPECT_TRUE(holds(fault("kubernetes:jobs=[]"), "kubernetes: jobs is not an object"));
  EXPECT_TRUE(holds(fault(R"(kubernetes:jobs={"worker": [1]})"),
                    "kubernetes: jobs.worker: [0] is a number, not a string"));
  EXPECT_TRUE(
      holds(fault(R"(kubernetes:jobs={"worker": []})"), "job worker has no label selector"));
  EXPECT_TRUE(holds(fault("kubernetes:jobs={}"), "no job has a label selector"));
  EXPECT_TRUE(holds(fault("kubernetes:job=ps"), "needs selector="));
  EXPECT_TRUE(
      holds(fault(R"(kubernetes:selector=a;jobs={"w": "b"})"), "already contains selectors"));
  EXPECT_TRUE(holds(fault("kubernetes:port=0"), "kubernetes: port"));
  EXPECT_TRUE(holds(fault("kubernetes:time_limit=0"), "kubernetes: time_limit"));
  EXPECT_TRUE(holds(fault("kubernetes", code::missing), "KUBERNETES_SERVICE_HOST is not set"));
  EXPECT_TRUE(holds(fault("gce"), "instance group is missing"));
  EXPECT_TRUE(holds(fault("gce:group=g;own=true;task_id=1"), "task_id= already sets"));
  EXPECT_TRUE(holds(fault("gce:zon=x"), "unknown key 'zon' (known keys: group, job"));
  EXPECT_TRUE(holds(fault("tpu", code::missing), "Please provide a TPU Name"));
  EXPECT_TRUE(holds(fault("tpu:name=n;api_version=v9"), "neither v1 nor v2"));
  EXPECT_TRUE(holds(fault("tpu:name=n;coordinator_address=a:1"), "has no name"));
}

class google_kinds : public tpu {
 protected:
  std::shared_ptr<cluster_resolver> make(std::string const& text) {
    resolver_kinds kinds;
    add_cloud_resolver_kinds(kinds, time_.source());
    return kinds.make(text, machine());
  }
};

TEST_F(google_kinds, a_tpu_has_a_name_or_addresses) {
  node("n", ready(endpoints({"10.2.3.4"})));
  EXPECT_EQ(make("tpu:name=n;api_url=" + url() + ";job=tpu;coordinator_name=c")->cluster_spec(),
            spec_of({{"c", {{0, "10.128.1.2:8476"}}}, {"tpu", {{0, "10.2.3.4:8470"}}}}));
  auto const given = make("tpu:name=grpc://a:1,b;task_id=1");
  EXPECT_EQ(given->master(), "grpc://b:8470");
  EXPECT_TRUE(make("tpu:name=local")->cluster_spec().empty());
}

TEST_F(google_kinds, a_group_has_a_zone_and_a_port) {
  reply("/projects/p/zones/z/instanceGroups/g/listInstances?orderBy=name&maxResults=500",
        {200, R"({"items":[{"instance":"https://x/projects/p/zones/z/instances/m-0"}]})"});
  reply("/projects/p/zones/z/instances/m-0",
        {200, R"({"networkInterfaces":[{"networkIP":"10.0.0.5"}]})"});
  auto const r = make("gce:group=g;project=p;zone=z;port=99;job=ps;api_url=" + url());
  EXPECT_EQ(r->cluster_spec(), spec_of({{"ps", {{0, "10.0.0.5:99"}}}}));
  EXPECT_EQ(r->master({}, {}, ""), "10.0.0.5:99");
}

TEST(cloud_kinds, extend_the_local_kinds) {
  auto const kinds = all_resolver_kinds();
  std::vector<std::string> names;
  for (auto const& k : kinds.all()) names.push_back(k.name);
  EXPECT_EQ(names, (std::vector<std::string>{"simple", "file", "tf-config", "slurm", "sagemaker",
                                             "kubernetes", "gce", "tpu"}));
}

}  // namespace
}  // namespace muster::testing
