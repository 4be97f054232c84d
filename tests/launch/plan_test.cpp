#include "launch/plan.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/host_port.hpp"
#include "launch/launcher.hpp"
#include "muster/cluster_error.hpp"

namespace muster::launch {
namespace {

TEST(addresses, are_split_into_host_and_port) {
  struct expected {
    std::string text, host, port;
  };
  for (auto const& e : {expected{"h:1", "h", "1"},
                        {"h", "h", ""},
                        {"[::1]:80", "::1", "80"},
                        {"[::1]", "::1", ""},
                        {"::1", "::1", ""},
                        {"[::1", "[::1", ""},
                        {"[::1]x", "[::1]x", ""},
                        {"[::1]80", "[::1]80", ""}}) {
    auto const a = host_port::parse(e.text);
    EXPECT_EQ(a.host, e.host) << e.text;
    EXPECT_EQ(a.port, e.port) << e.text;
  }
  EXPECT_EQ((host_port{"::1", "80"}.text()), "[::1]:80");
  EXPECT_EQ((host_port{"h", ""}.text()), "h");
}

TEST(addresses, free_ports_differ) {
  auto const ports = free_ports(50);
  EXPECT_EQ(std::set<int>(ports.begin(), ports.end()).size(), 50u);
}

plan_request request(std::map<std::string, cluster_spec::tasks> jobs) {
  return {.cluster = cluster_spec(std::move(jobs)), .command = {"train"}};
}

std::string of(role const& r, std::string const& name) {
  auto const it = r.environment.find(name);
  return it == r.environment.end() ? "none" : it->second;
}

TEST(plan, first_worker_is_process_0_without_a_chief) {
  auto const all = plan(request({{"worker", {{0, "[fd00::1]:5"}, {1, "[fd00::2]:5"}}}}));
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(of(all[0], "JAX_COORDINATOR_BIND_ADDRESS"), "[::]:5");
  EXPECT_EQ(of(all[1], "JAX_COORDINATOR_BIND_ADDRESS"), "none");
  EXPECT_EQ(of(all[1], "JAX_COORDINATOR_ADDRESS"), "[fd00::1]:5");
  EXPECT_EQ(of(all[1], "MASTER_ADDR"), "fd00::1");
}

TEST(plan, gaps_in_the_indices_leave_no_gaps_in_the_ranks) {
  auto r = request({{"worker", {{0, "a:1"}, {3, "b:1"}}}});
  r.own = {"worker", 3};
  auto const all = plan(r);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].name, "worker:3");
  EXPECT_EQ(of(all[0], "RANK"), "1");
  EXPECT_EQ(of(all[0], "WORLD_SIZE"), "2");
}

TEST(plan, an_evaluator_need_not_be_in_the_cluster) {
  auto r = request({{"worker", {{0, "a:1"}}}, {"ps", {{0, "p:1"}}}});
  r.own = {"evaluator", 0};
  auto const all = plan(r);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(of(all[0], "MUSTER_IS_CHIEF"), "1");
  EXPECT_EQ(of(all[0], "MUSTER_MASTER"), "");
  EXPECT_EQ(of(all[0], "RANK"), "none");
  EXPECT_FALSE(all[0].serves);
}

TEST(plan, process_0_needs_a_port_unless_a_server_coordinates) {
  auto r = request({{"worker", {{0, "a"}, {1, "b"}}}});
  try {
    plan(r);
    FAIL() << "a plan without a port was accepted";
  } catch (cluster_error const& e) {
    EXPECT_STREQ(e.what(),
                 "the address of worker:0, 'a', has no port: write host:port, or pass a Muster "
                 "server with --server");
  }
  r.server = "s:1";
  auto const all = plan(r);
  EXPECT_EQ(of(all[1], "JAX_COORDINATOR_ADDRESS"), "s:1");
  EXPECT_EQ(of(all[1], "MASTER_PORT"), "none");
}

TEST(plan, added_variables_win_and_inherited_roles_are_dropped) {
  auto r = request({{"worker", {{0, "a:1"}}}, {"ps", {{0, "p:1"}}}});
  r.inherited = {{"RANK", "9"}, {"HOME", "/h"}};
  r.added = {{"WORLD_SIZE", "8"}};
  auto const all = plan(r);
  EXPECT_EQ(of(all[0], "WORLD_SIZE"), "8");
  EXPECT_EQ(of(all[0], "HOME"), "/h");
  EXPECT_EQ(of(all[1], "RANK"), "none");
  EXPECT_TRUE(all[1].serves);
}

}  // namespace
}  // namespace muster::launch
