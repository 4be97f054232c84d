// `muster resolve` and services: the real program over TLS against a server that speaks for one.
#include <gtest/gtest.h>

#include "tests/e2e/cluster.hpp"
#include "tests/support/http_service.hpp"

namespace muster::e2e {
namespace {

using test::http_reply;
using test::http_seen;
using test::http_service;

std::string pods(int running) {
  std::string items;
  for (int i = 0; i < 2; ++i)
    items += std::string(i ? "," : "") + R"({"metadata":{"name":"train-)" + std::to_string(9 + i) +
             R"("},"spec":{},"status":{"phase":")" + (i < running ? "Running" : "Pending") +
             R"(","podIP":"10.0.0.)" + std::to_string(i + 1) + R"("}})";
  return R"({"items":[)" + items + "]}";
}

class resolve_in_a_pod : public ::testing::Test {
 protected:
  finished run(http_service const& api, words more) {
    more.insert(more.begin(),
                {"resolve", "kubernetes:selector=app=train;tasks=2;service_account=" +
                                std::filesystem::path(c_.file("token")).parent_path().string()});
    c_.write("ca.crt", authority_.pem());
    c_.write("namespace", "ml");
    c_.write("token", "secret");
    return c_.run(more, {},
                  {{"KUBERNETES_SERVICE_HOST", "127.0.0.1"},
                   {"KUBERNETES_SERVICE_PORT", std::to_string(api.port())},
                   {"HOSTNAME", "train-10"}});
  }

  cluster c_;
  test::authority authority_;
};

TEST_F(resolve_in_a_pod, waits_until_the_pods_run_and_knows_its_own_task) {
  http_service const api(
      test::one_by_one({{200, pods(0)}, {200, pods(1)}, {503, ""}, {200, pods(2)}}),
      {"127.0.0.1", authority_.issue()});
  auto const spec = run(api, {"--wait", "--timeout", "2m"});
  EXPECT_EQ(spec.status, 0) << spec.err;
  EXPECT_EQ(spec.out, "{\"worker\":[\"10.0.0.1:8470\",\"10.0.0.2:8470\"]}\n");
  EXPECT_NE(spec.err.find("Pod \"train-9\" is not running; phase: \"Pending\""), std::string::npos)
      << spec.err;
  EXPECT_EQ(api.seen().at(0).headers.at("authorization"), "Bearer secret");
  auto const own = run(api, {"--task", "--master", "--output", "table"});
  EXPECT_EQ(own.out,
            "task         worker:1\nmaster       grpc://10.0.0.2:8470\nenvironment  none\n")
      << own.err;
}

TEST_F(resolve_in_a_pod, says_what_is_wrong_in_a_line_and_by_its_status) {
  http_service const refusing(
      [](http_seen const&) {
        return http_reply{403, R"({"message":"no"})"};
      },
      {"127.0.0.1", authority_.issue()});
  auto const denied = run(refusing, {});
  EXPECT_EQ(denied.status, 1);
  EXPECT_NE(denied.err.find("allow the account the verb list on pods in namespace ml"),
            std::string::npos)
      << denied.err;
  http_service const stranger([](http_seen const&) { return http_reply{}; },
                              {"127.0.0.1", test::self_signed()});
  auto const untrusted = run(stranger, {"--wait"});
  EXPECT_EQ(untrusted.status, 1);
  EXPECT_NE(untrusted.err.find("its certificate is not accepted: self-signed"), std::string::npos)
      << untrusted.err;
}

}  // namespace
}  // namespace muster::e2e
