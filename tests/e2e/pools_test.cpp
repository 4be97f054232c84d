#include <gtest/gtest.h>

#include "tests/e2e/cluster.hpp"

namespace muster::e2e {
namespace {

namespace json = boost::json;

struct clusters_as_pools : testing::Test {
  std::size_t connected(std::string const& name) {
    std::size_t n = 0;
    auto const list = c.get("/api/v1/clusters/" + name + "/tasks?state=CONNECTED&limit=100");
    for (auto const& t : list.at("tasks").as_array()) n += t.at("kind") == "worker";
    return n;
  }

  cluster c;
};

TEST_F(clusters_as_pools, each_has_its_workers_and_its_jobs) {
  c.serve({"--cluster", "default", "--cluster", "train"});
  c.worker({"--label", "own=0", "--label", "of=main"});
  c.worker({"--label", "own=0", "--label", "of=train", "--cluster", "train"});
  ASSERT_TRUE(await([&] { return connected("default") == 1 && connected("train") == 1; }));
  EXPECT_EQ(c.get("/api/v1/clusters/train/tasks/worker/0").at("labels").at("of"), "train");
  EXPECT_EQ(c.get("/api/v1/clusters/default/tasks/worker/0").at("labels").at("of"), "main");

  auto const there = c.post("/api/v1/jobs", R"({"cluster":"train","name":"t","closures":[
      {"function":"muster.echo","args":[7]}]})");
  auto const id = json::value_to<std::string>(there.at("id"));
  ASSERT_TRUE(c.await_count(id, "succeeded", 1));
  auto const job = c.get("/api/v1/jobs/" + id);
  EXPECT_EQ(job.at("cluster"), "train");
  EXPECT_EQ(c.get("/api/v1/jobs").at("jobs").as_array().size(), 0u);
  EXPECT_EQ(c.get("/api/v1/jobs?cluster=train").at("jobs").at(0).at("id"), there.at("id"));
  EXPECT_EQ(c.get("/api/v1/clusters/train/tasks/worker/0").at("finished"), 1);
  EXPECT_EQ(c.get("/api/v1/clusters/default/tasks/worker/0").at("finished"), 0);
  auto const listed = c.run({"jobs", "--cluster", "train"});
  EXPECT_NE(listed.out.find(id), std::string::npos) << listed.out;
  auto const metrics = c.text("/metrics");
  EXPECT_NE(metrics.find("muster_cluster_workers{cluster=\"train\"} 1\n"), std::string::npos);
  EXPECT_NE(metrics.find("muster_task_finished_total{cluster=\"train\",task=\"worker:0\"} 1\n"),
            std::string::npos);

  auto const value = json::value_to<std::string>(there.at("closures").at(0).at("remote_value"));
  auto const across = c.run({"submit", "muster.echo", R"({"$remote_value":")" + value + R"("})"});
  EXPECT_NE(across.status, 0);
  EXPECT_NE(across.err.find("belongs to another cluster"), std::string::npos) << across.err;
}

TEST_F(clusters_as_pools, a_job_waits_for_workers_of_its_own_cluster) {
  c.serve({"--cluster", "default", "--cluster", "train"});
  c.worker();
  ASSERT_TRUE(c.await_tasks(1));
  auto const made = c.post("/api/v1/jobs", R"({"cluster":"train","closures":[
      {"function":"muster.echo","args":[7]}]})");
  auto const closure = json::value_to<std::string>(made.at("closures").at(0).at("id"));
  auto const why = json::serialize(c.get("/api/v1/closures/" + closure + "/explain"));
  EXPECT_NE(why.find("no worker"), std::string::npos) << why;
  c.worker({"--cluster", "train"});
  EXPECT_TRUE(c.await_count(json::value_to<std::string>(made.at("id")), "succeeded", 1));
}

TEST_F(clusters_as_pools, port_of_a_cluster_assigns_workers_to_it) {
  c.serve({"--cluster", "default", "--cluster", "train"});
  auto const port = json::value_to<std::string>(c.get("/api/v1/clusters/train").at("address"));
  c.spawn({"worker", "--server", port});
  EXPECT_TRUE(await([&] { return connected("train") == 1; }));
  EXPECT_EQ(connected("default"), 0u);
}

TEST_F(clusters_as_pools, cluster_in_use_is_deleted_only_with_force) {
  c.serve({"--cluster", "default"});
  ASSERT_EQ(c.run({"clusters", "create", "train"}).status, 0);
  auto& w = c.worker({"--cluster", "train"});
  ASSERT_TRUE(await([&] { return connected("train") == 1; }));
  auto const refused = c.run({"clusters", "delete", "train"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.err.find("cluster 'train' has 1 worker;"), std::string::npos) << refused.err;
  EXPECT_EQ(connected("train"), 1u);
  EXPECT_EQ(c.run({"clusters", "delete", "train", "--force"}).status, 0);
  EXPECT_EQ(w.wait(), 1);
  EXPECT_TRUE(w.says("cluster 'train' was deleted"));
  EXPECT_EQ(c.status_of("/api/v1/clusters/train"), 404u);
}

TEST_F(clusters_as_pools, worker_of_an_unknown_cluster_exits_unless_told_to_wait) {
  c.serve({"--cluster", "default"});
  auto& lost = c.worker({"--cluster", "moon"});
  EXPECT_EQ(lost.wait(), 1);
  EXPECT_TRUE(lost.says("there is no cluster 'moon'"));
  auto& patient = c.worker({"--cluster", "moon", "--wait-for-cluster"});
  ASSERT_TRUE(await(
      [&] { return patient.errors().find("there is no cluster 'moon'") != std::string::npos; }));
  EXPECT_TRUE(patient.running());
  ASSERT_EQ(c.run({"clusters", "create", "moon"}).status, 0);
  EXPECT_TRUE(await([&] { return connected("moon") == 1; }));
}

TEST_F(clusters_as_pools, each_cluster_lists_its_stateful_jobs) {
  c.serve({"--cluster", "default", "--cluster", "train;stateful=cache"});
  EXPECT_EQ(json::serialize(c.get("/api/v1/clusters/train").at("stateful")), R"(["cache"])");
  c.worker({"--cluster", "train", "--role", "cache"});
  c.worker({"--cluster", "train", "--job", "ps"});
  ASSERT_TRUE(await([&] { return connected("train") == 2; }));
  // Only the stateless role, ps, takes closures that are not bound to a task.
  for (int i = 0; i < 4; ++i) {
    auto const done = c.run({"submit", "muster.worker_info", "--cluster", "train"});
    ASSERT_EQ(done.status, 0) << done.err;
    EXPECT_NE(done.out.find("ps"), std::string::npos) << done.out;
  }
  auto const bound =
      c.run({"submit", "muster.worker_info", "--cluster", "train", "--task", "cache"});
  EXPECT_NE(bound.out.find("cache"), std::string::npos) << bound.out;
}

}  // namespace
}  // namespace muster::e2e
