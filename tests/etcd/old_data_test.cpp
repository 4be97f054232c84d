#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <boost/json.hpp>

#include "base/http_client/http_client.hpp"
#include "tests/e2e/cluster.hpp"
#include "tests/etcd/lagging_member.hpp"
#include "tests/etcd/members.hpp"
#include "tests/support/cannot_run.hpp"

namespace muster::e2e {
namespace old_data_cases {

using namespace std::chrono_literals;

void submit(cluster& c, std::string const& name) {
  (void)c.post("/api/v1/jobs",
               R"({"name":")" + name + R"(","closures":[{"function":"muster.echo","args":[1]}]})");
}

std::vector<std::string> names_of(boost::json::value const& listed) {
  std::vector<std::string> all;
  for (auto const& j : listed.at("jobs").as_array()) all.emplace_back(j.at("name").as_string());
  std::sort(all.begin(), all.end());
  return all;
}

std::optional<http_response> get(std::string const& http, std::string const& path) {
  http_request r;
  r.url = "http://" + http + path;
  auto answer = http_client().send(r);
  return answer ? std::optional(std::move(*answer)) : std::nullopt;
}

TEST(old_data_of_etcd, keeps_a_server_from_taking_over_and_costs_no_job) {
  if (!test::etcd_is_installed()) return test::cannot_run("/usr/bin/etcd is not there");
  test::etcd_members members(1);
  test::lagging_member lagging(members.host(0));
  auto const store = "etcd://" + lagging.host() + "/test";
  std::int64_t before = 0;
  {
    cluster first;
    auto& server = first.serve({"--store", store});
    submit(first, "first");
    before = lagging.revision();
    submit(first, "second");
    server.signal(SIGKILL);
    (void)server.wait();
  }
  lagging.fall_behind(before);
  cluster second;
  auto const http = "127.0.0.1:" + std::to_string(test::free_port());
  auto& waiting =
      second.spawn({"serve", "--store", store, "--http", http, "--grpc", "127.0.0.1:0"});
  EXPECT_TRUE(await(
      [&] {
        auto const r = get(http, "/readyz");
        return r && r->status == 503 &&
               r->body.find("etcd has no recent data for a new leader") != std::string::npos;
      },
      60s))
      << waiting.errors();
  EXPECT_TRUE(waiting.says("is older than revision"));
  EXPECT_TRUE(waiting.running());
  lagging.catch_up();
  ASSERT_TRUE(await(
      [&] {
        auto const r = get(http, "/readyz");
        return r && r->ok();
      },
      60s))
      << waiting.errors();
  auto const listed = get(http, "/api/v1/jobs");
  ASSERT_TRUE(listed && listed->ok());
  EXPECT_EQ(names_of(boost::json::parse(listed->body)),
            (std::vector<std::string>{"first", "second"}));
  waiting.signal(SIGTERM);
  EXPECT_EQ(waiting.wait(), 0) << waiting.errors();

  cluster third;
  third.serve({"--store", store});
  submit(third, "third");
  EXPECT_EQ(names_of(third.get("/api/v1/jobs")),
            (std::vector<std::string>{"first", "second", "third"}));
}

}  // namespace old_data_cases
}  // namespace muster::e2e
