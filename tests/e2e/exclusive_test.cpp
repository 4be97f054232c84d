#include <gtest/gtest.h>

#include "tests/e2e/cluster.hpp"

namespace muster::e2e {
namespace {

namespace json = boost::json;

// Kills the worker, its parent, three times while others run. Then it waits for a file.
constexpr auto killer = R"(n=$(cat lives 2>/dev/null || echo 0)
echo $((n + 1)) >lives
[ $n -ge 3 ] || { sleep 0.3; kill -9 $PPID; exit; }
until [ -e go ]; do sleep 0.02; done)";

TEST(exclusive_closure, runs_alone_after_it_killed_three_workers) {
  cluster c;
  c.serve();
  json::object const args{{"argv", json::array{"sh", "-c", killer}}, {"cwd", c.file("").string()}};
  json::object const suspect{{"function", "muster.exec"}, {"kwargs", args}};
  json::object const job{{"options", json::object{{"max_worker_failures", 0}}},
                         {"closures", json::array{suspect}}};
  auto const id =
      json::value_to<std::string>(c.post("/api/v1/jobs", json::serialize(job)).at("id"));
  json::array short_ones;
  for (int i = 0; i < 60; ++i)
    short_ones.push_back(json::object{{"function", "muster.sleep"}, {"args", json::array{"50ms"}}});
  json::object const work{{"options", json::object{{"max_worker_failures", 0}}},
                          {"closures", std::move(short_ones)}};
  auto const others =
      json::value_to<std::string>(c.post("/api/v1/jobs", json::serialize(work)).at("id"));

  for (int i = 0; i < 3; ++i) {
    auto& w = c.worker({"--index", std::to_string(i), "--slots", "2", "--allow-exec"});
    EXPECT_TRUE(w.wait()) << "worker:" << i << " is killed";
    ASSERT_TRUE(c.await_tasks(static_cast<std::size_t>(i) + 1, "ERROR"));
  }
  EXPECT_LT(c.get("/api/v1/jobs/" + others).at("counts").at("succeeded").as_int64(), 60);
  c.worker({"--index", "3", "--slots", "2", "--allow-exec"});
  ASSERT_TRUE(c.await_count(id, "running", 1));
  auto const closure = c.get("/api/v1/jobs/" + id + "/closures").at("closures").at(0);
  EXPECT_TRUE(closure.at("alone").as_bool());
  auto const closure_id = json::value_to<std::string>(closure.at("id"));
  EXPECT_NE(c.run({"explain", closure_id}).out.find("It lost its worker 3 times, so it runs alone"),
            std::string::npos);
  auto const alone = c.get("/api/v1/overview").at("alone");
  EXPECT_EQ(alone.at("oldest").at(0).at("closure"), closure.at("id"));
  EXPECT_EQ(alone.at("oldest").at(0).at("worker"), "worker:3");
  EXPECT_EQ(c.get("/api/v1/jobs/" + others).at("counts").at("running"), 0);
  auto const tasks = c.tasks();
  EXPECT_EQ(tasks.at(3).at("running"), 1);
  EXPECT_EQ(tasks.at(3).at("sent_ahead"), 0);

  c.write("go", "");
  EXPECT_TRUE(c.await_count(id, "succeeded", 1));
  EXPECT_TRUE(c.await_count(others, "succeeded", 60)) << "the other slot serves again";
  EXPECT_EQ(c.get("/api/v1/overview").at("alone").at("count"), 0);
}

}  // namespace
}  // namespace muster::e2e
