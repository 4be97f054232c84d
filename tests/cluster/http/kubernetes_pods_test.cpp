#include "tests/cluster/http/kubernetes_fixture.hpp"

namespace muster::testing {
namespace {

using code = cluster_error::code;

TEST_F(kubernetes, all_pages_are_read) {
  http_service const server(one_by_one({{200, list({{"p-2", "Running", "10.0.0.3"}}, "page/2=")},
                                        {200, list({{"p-0", "Running", "10.0.0.1"}}, "page3")},
                                        {200, list({{"p-1", "Running", "10.0.0.2"}})}}));
  auto r = off(server.url());
  EXPECT_EQ(r.cluster_spec().job_tasks("worker").size(), 3u);
  auto const seen = server.seen();
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0].query("limit"), "500");
  EXPECT_EQ(seen[0].query("continue"), "");
  EXPECT_EQ(seen[1].query("continue"), "page%2F2%3D");
  EXPECT_EQ(seen[2].query("continue"), "page3");
}

TEST_F(kubernetes, a_listing_that_never_ends_is_an_error) {
  http_service const server([](http_seen const&) { return http_reply{200, list({}, "more")}; });
  auto r = off(server.url());
  EXPECT_TRUE(holds(fault_of([&] { r.cluster_spec(); }), "is longer than 2000 pages"));
  EXPECT_EQ(server.seen().size(), 2000u);
}

TEST_F(kubernetes, a_listing_that_went_stale_is_begun_again) {
  http_service const server(
      one_by_one({{200, list({{"old-0", "Running", "10.9.0.1"}}, "a")},
                  {410, R"({"message":"The provided continue parameter is too old"})"},
                  {200, list({{"p-0", "Running", "10.0.0.1"}})}}));
  auto r = off(server.url());
  EXPECT_EQ(r.cluster_spec(), spec_of({{"worker", {{0, "10.0.0.1:8470"}}}}));
}

TEST_F(kubernetes, a_listing_that_is_always_stale_is_an_error) {
  http_service const server([&](http_seen const& s) {
    if (s.query("continue").empty()) return http_reply{200, list({}, "a")};
    return http_reply{410, R"({"message":"too old"})"};
  });
  auto r = off(server.url());
  EXPECT_TRUE(holds(fault_of([&] { r.cluster_spec(); }, code::missing), "410: too old"));
}

TEST_F(kubernetes, accelerators_are_the_limits_of_containers) {
  std::string limits = R"({"nvidia.com/gpu":"4","cpu":"8","memory":"16Gi"})";
  http_service const server([&](http_seen const&) {
    auto const pod = [](std::string const& name, std::string const& containers) {
      return R"({"metadata":{"name":")" + name + R"("},"spec":{"containers":[)" + containers +
             R"(]},"status":{"phase":"Running","podIP":"10.0.0.1"}})";
    };
    return http_reply{200, R"({"items":[)" +
                               pod("p-0", R"({"resources":{"limits":)" + limits + R"(}},{})") +
                               "," + pod("p-1", R"({"resources":{"limits":{"google.com/tpu":8}}},
                                             {"resources":{"limits":{"nvidia.com/gpu":"1"}}})") +
                               "]}"};
  });
  auto r = off(server.url());
  using counts = std::map<std::string, int>;
  EXPECT_EQ(r.num_accelerators(), (counts{{"GPU", 5}, {"TPU", 8}}));
  EXPECT_EQ(r.num_accelerators("worker", 0), (counts{{"GPU", 4}}));
  EXPECT_EQ(r.num_accelerators("worker", 1), (counts{{"GPU", 1}, {"TPU", 8}}));
  EXPECT_EQ(r.num_accelerators("worker", 10), counts());
  limits = R"({"nvidia.com/gpu":"many"})";
  EXPECT_TRUE(holds(fault_of([&] { r.num_accelerators(); }),
                    "items[0].spec.containers[0].resources.limits.nvidia.com/gpu is a string"));
  limits = R"({"nvidia.com/gpu":10000,"amd.com/gpu":1})";
  EXPECT_TRUE(holds(fault_of([&] { r.num_accelerators(); }),
                    "the containers of the pod have more than 10000 accelerators"));
  limits = R"({"nvidia.com/gpu":-1})";
  EXPECT_TRUE(holds(fault_of([&] { r.num_accelerators(); }), "is -1; it must be from 0 to 10000"));
  r.list_devices([] { return std::vector<std::string>{"/job:worker/task:0/device:GPU:0"}; });
  EXPECT_EQ(r.num_accelerators(), (counts{{"GPU", 1}}));
}

TEST_F(kubernetes, answers_that_are_not_as_documented_name_the_field) {
  auto const fault = [&](std::string const& body, code expected) {
    http_service const server([&](http_seen const&) { return http_reply{200, body}; });
    auto r = off(server.url());
    return fault_of([&] { r.cluster_spec(); }, expected);
  };
  EXPECT_TRUE(holds(fault("{}", code::missing), ": items is missing"));
  EXPECT_TRUE(holds(fault(R"({"items":[{"metadata":{}}]})", code::missing),
                    ": items[0].status is missing"));
  EXPECT_TRUE(holds(fault(R"({"items":[{"metadata":{},"status":{}}]})", code::missing),
                    ": items[0].metadata.name is missing"));
  EXPECT_TRUE(holds(fault(R"({"items":[{"metadata":{"name":1},"status":{}}]})", code::invalid),
                    ": items[0].metadata.name is a number, not a string"));
  EXPECT_TRUE(holds(fault("<html>", code::invalid), "not JSON"));
  EXPECT_TRUE(holds(fault(list({{"p", "Running", "10.0.0.1/24"}}), code::invalid),
                    "Pod \"p\": '10.0.0.1/24' is not a host"));
}

}  // namespace
}  // namespace muster::testing
