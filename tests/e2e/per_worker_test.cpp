#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "tests/e2e/cluster.hpp"

namespace muster::e2e {
namespace {

namespace json = boost::json;

std::string create(cluster& c, std::string body) {
  return json::value_to<std::string>(c.post("/api/v1/per_worker_values", std::move(body)).at("id"));
}
std::string argument(std::string const& id) {
  return "{\"$per_worker\":\"" + id + "\"}";
}

/// Returns the statuses by task, such as "worker:0=READY worker:1=ABORTED".
std::string statuses(cluster& c, std::string const& id) {
  std::string all;
  auto const v = c.get("/api/v1/per_worker_values/" + id);
  for (auto const& part : v.at("components").as_array())
    all += (all.empty() ? "" : " ") + json::value_to<std::string>(part.at("task")) + "=" +
           json::value_to<std::string>(part.at("status"));
  return all;
}
bool becomes(cluster& c, std::string const& id, std::string const& expected) {
  for (int i = 0; i < 2'000 && statuses(c, id) != expected; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // REST sends no notification
  EXPECT_EQ(statuses(c, id), expected);
  return statuses(c, id) == expected;
}

TEST(per_worker, each_worker_builds_its_value_and_rebuilds_it_after_a_kill) {
  cluster c;
  c.serve();
  c.worker({"--index", "0"});
  auto& second = c.worker({"--index", "1"});
  auto const id = create(c, R"({"function":"muster.worker_info","name":"me"})");
  ASSERT_TRUE(becomes(c, id, "worker:0=READY worker:1=READY"));
  auto const index_on = [&](std::string const& task) {
    auto const f =
        c.run({"submit", "muster.echo", argument(id), "--task", task, "--timeout", "20s"});
    return f.status == 0 ? json::parse(f.out).at("index").to_number<int>() : -1;
  };
  EXPECT_EQ(index_on("worker:0"), 0);
  EXPECT_EQ(index_on("worker:1"), 1);
  second.signal(SIGKILL);
  ASSERT_TRUE(becomes(c, id, "worker:0=READY worker:1=ABORTED"));
  c.worker({"--index", "1"});
  EXPECT_EQ(index_on("worker:1"), 1) << "waits for the new incarnation to build it";
}

TEST(per_worker, error_of_a_builder_fails_only_dependent_calls) {
  cluster c;
  c.serve();
  c.worker();
  auto const id = create(c, R"({"function":"muster.fail","args":["no data"]})");
  ASSERT_TRUE(becomes(c, id, "worker:0=READY"));
  EXPECT_EQ(c.run({"submit", "muster.echo", "1", "--timeout", "20s"}).status, 0);
  auto const f = c.run({"submit", "muster.echo", argument(id), "--timeout", "20s"});
  EXPECT_EQ(f.status, 1);
  EXPECT_NE(f.err.find("INPUT"), std::string::npos) << f.err;
  EXPECT_NE(f.err.find(id + " could not be built here: no data"), std::string::npos) << f.err;
}

TEST(per_worker, released_value_is_refused_by_name) {
  cluster c;
  c.serve();
  auto const id = create(c, R"({"function":"muster.noop"})");
  muster::http_client client;
  muster::http_request request;
  request.method = "DELETE";
  request.url = c.url() + "/api/v1/per_worker_values/" + id;
  EXPECT_EQ(client.send(request)->status, 204u);
  auto const f = c.run({"submit", "muster.echo", argument(id)});
  EXPECT_NE(f.err.find(id + " was released"), std::string::npos) << f.err;
}

TEST(per_worker, command_line_creates_shows_and_releases_values) {
  cluster c;
  c.serve();
  c.worker({"--index", "0"});
  auto const made = c.run({"per-worker", "create", "muster.echo", "[1, 2]", "--name", "table"});
  ASSERT_EQ(made.status, 0) << made.err;
  auto const id = made.out.substr(0, made.out.find('\n'));
  ASSERT_TRUE(becomes(c, id, "worker:0=READY"));
  auto const all = c.run({"per-worker"});
  EXPECT_NE(all.out.find("table"), std::string::npos) << all.out;
  EXPECT_NE(all.out.find("1 READY"), std::string::npos) << all.out;
  auto const one = c.run({"per-worker", "show", id});
  EXPECT_NE(one.out.find("built by  muster.echo [[1,2]]"), std::string::npos) << one.out;
  EXPECT_NE(one.out.find("worker:0"), std::string::npos) << one.out;
  EXPECT_EQ(c.run({"submit", "muster.echo", argument(id), "--timeout", "20s"}).out, "[1,2]\n");
  EXPECT_EQ(c.run({"per-worker", "release", id}).out, id + " is released\n");
  auto const gone = c.run({"per-worker", "show", id});
  EXPECT_EQ(gone.status, 1);
  EXPECT_NE(gone.err.find("was released"), std::string::npos) << gone.err;
  EXPECT_EQ(c.run({"per-worker", "create"}).status, 2);
}

TEST(affinity, labels_and_resources_choose_the_worker) {
  cluster c;
  c.serve();
  c.worker({"--index", "0", "--label", "zone=a"});
  c.worker({"--index", "1", "--label", "zone=b", "--resource", "gpu=1"});
  auto const where = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"submit", "muster.worker_info", "--timeout", "20s"});
    auto const f = c.run(flags);
    return f.status == 0 ? json::parse(f.out).at("index").to_number<int>() : -1;
  };
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(where({"--label", "zone=a"}), 0);
    EXPECT_EQ(where({"--label", "zone=b"}), 1);
    EXPECT_EQ(where({"--resource", "gpu=1"}), 1);
  }
  auto const id = c.run({"submit", "muster.noop", "--resource", "gpu=2", "--no-wait"}).out;
  auto const job = id.substr(0, id.find('\n'));
  auto const closures = c.get("/api/v1/jobs/" + job + "/closures").at("closures").as_array();
  auto const why = c.run({"explain", json::value_to<std::string>(closures.at(0).at("id"))}).out;
  EXPECT_NE(why.find("none has gpu=2"), std::string::npos) << why;
}

}  // namespace
}  // namespace muster::e2e
