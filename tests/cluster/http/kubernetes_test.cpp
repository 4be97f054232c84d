#include "launch/cluster/http/natural_order.hpp"
#include "muster/kubernetes_resolver.hpp"
#include "tests/cluster/http/kubernetes_fixture.hpp"

namespace muster::testing {
namespace {

using code = cluster_error::code;

TEST_F(kubernetes, pod_uses_its_service_account_over_tls) {
  serve({{"app=x", {{"p-0", "Running", "10.0.0.1"}}}}, true);
  auto r = within({{"worker", {"app=x"}}});
  EXPECT_EQ(r.cluster_spec(), spec_of({{"worker", {{0, "10.0.0.1:8470"}}}}));
  auto const seen = server_->seen().at(0);
  EXPECT_EQ(seen.path(), "/api/v1/namespaces/training/pods");
  EXPECT_EQ(seen.query("labelSelector"), "app%3Dx");
  EXPECT_EQ(seen.headers.at("authorization"), "Bearer first-token");
}

TEST_F(kubernetes, a_token_that_was_renewed_is_used) {
  serve({{"app=x", {{"p-0", "Running", "10.0.0.1"}}}}, true);
  auto r = within({{"worker", {"app=x"}}});
  r.cluster_spec();
  account_.write("token", "second-token\n");
  r.cluster_spec();
  EXPECT_EQ(server_->seen().back().headers.at("authorization"), "Bearer second-token");
}

TEST_F(kubernetes, server_of_another_authority_is_not_trusted) {
  serve({{"app=x", {}}}, true);
  account_.write("ca.crt", muster::test::authority("other").pem());
  auto r = within({{"worker", {"app=x"}}});
  auto const line = fault_of([&] { r.cluster_spec(); }, code::denied);
  EXPECT_TRUE(holds(line, "the server's certificate was rejected")) << line;
}

TEST_F(kubernetes, outside_of_a_pod_the_variable_that_is_missing_is_named) {
  kubernetes_resolver r(environment({}), options({{"worker", {"app=x"}}}));
  auto const line = fault_of([&] { r.cluster_spec(); }, code::missing);
  EXPECT_TRUE(holds(line, "KUBERNETES_SERVICE_HOST is not set")) << line;
  EXPECT_TRUE(holds(line, "server=https://HOST:PORT")) << line;
}

TEST_F(kubernetes, files_of_the_account_that_are_missing_are_named) {
  serve({{"app=x", {}}}, true);
  std::filesystem::remove(account_.path() + "/token");
  auto r = within({{"worker", {"app=x"}}});
  auto line = fault_of([&] { r.cluster_spec(); }, code::denied);
  EXPECT_EQ(line.find(account_.path() + "/token: No such file"), 0u) << line;
  std::filesystem::remove(account_.path() + "/namespace");
  line = fault_of([&] { r.cluster_spec(); }, code::missing);
  EXPECT_TRUE(holds(line, "/namespace: No such file")) << line;
  EXPECT_TRUE(holds(line, "namespace=")) << line;
}

TEST_F(kubernetes, names_are_ordered_as_people_count) {
  serve({{"app=x", {{"w-10", "Running", "10.0.0.10"}, {"w-2", "Running", "10.0.0.2"}}}}, false);
  auto o = options({{"worker", {"app=x"}}});
  o.server = server_->url();
  kubernetes_resolver r(environment({}), o);
  EXPECT_EQ(r.cluster_spec().task_address("worker", 0), "10.0.0.2:8470");
  o.natural_order = false;
  kubernetes_resolver as_text(environment({}), o);
  EXPECT_EQ(as_text.cluster_spec().task_address("worker", 0), "10.0.0.10:8470");
}

TEST_F(kubernetes, host_addresses_ipv6_and_ports_can_be_chosen) {
  serve({{"app=x", {{"p-0", "Running", "fd00::7", "fd00::1"}}}}, false);
  auto o = options({{"worker", {"app=x"}}});
  o.server = server_->url();
  o.port = 2222;
  EXPECT_EQ(kubernetes_resolver(environment({}), o).cluster_spec().task_address("worker", 0),
            "[fd00::7]:2222");
  o.host_ip = true;
  EXPECT_EQ(kubernetes_resolver(environment({}), o).cluster_spec().task_address("worker", 0),
            "[fd00::1]:2222");
}

TEST_F(kubernetes, a_namespace_can_be_named_or_be_all) {
  serve({{"app=x", {{"p-0", "Running", "10.0.0.1"}}}}, false);
  auto o = options({{"worker", {"app=x"}}});
  o.server = server_->url();
  kubernetes_resolver(environment({}), o).cluster_spec();
  o.name_space = "team a";
  kubernetes_resolver(environment({}), o).cluster_spec();
  o.name_space = "*";
  kubernetes_resolver(environment({}), o).cluster_spec();
  auto const seen = server_->seen();
  EXPECT_EQ(seen.at(0).path(), "/api/v1/namespaces/default/pods");
  EXPECT_EQ(seen.at(1).path(), "/api/v1/namespaces/team%20a/pods");
  EXPECT_EQ(seen.at(2).path(), "/api/v1/pods");
}

TEST_F(kubernetes, pod_finds_its_own_task) {
  serve({{"a=1", {{"p-0", "Running", "10.0.0.1"}}},
         {"b=2", {{"q-0", "Running", "10.0.0.2"}, {"q-1", "Running", "10.0.0.3"}}},
         {"indexed",
          {{"j-0-xyz", "Running", "10.0.0.4", "", false, "j-0"},
           {"j-1-abc", "Running", "10.0.0.5", "", false, "j-1"}}}},
        true);
  std::map<std::string, std::string> pod = {
      {"KUBERNETES_SERVICE_HOST", "127.0.0.1"},
      {"KUBERNETES_SERVICE_PORT", std::to_string(server_->port())},
      {"HOSTNAME", "q-1"}};
  kubernetes_resolver r(environment(pod), options({{"ps", {"a=1"}}, {"worker", {"b=2"}}}));
  EXPECT_EQ(r.task_type(), "worker");
  EXPECT_EQ(r.master(), "grpc://10.0.0.3:8470");
  EXPECT_EQ(r.task_id(), 1);
  r.task_id(0);
  EXPECT_EQ(r.master(), "grpc://10.0.0.2:8470");
  // In an indexed Job, a pod's host name differs from its name.
  pod["HOSTNAME"] = "j-1";
  kubernetes_resolver indexed(environment(pod), options({{"worker", {"indexed"}}}));
  EXPECT_EQ(indexed.master(), "grpc://10.0.0.5:8470");
  pod["POD_NAME"] = "j-0-xyz";
  kubernetes_resolver named(environment(pod), options({{"worker", {"indexed"}}}));
  EXPECT_EQ(named.master(), "grpc://10.0.0.4:8470");
  pod["POD_NAME"] = "somebody";
  kubernetes_resolver other(environment(pod), options({{"ps", {"a=1"}}}));
  EXPECT_EQ(other.master(), "");
}

TEST_F(kubernetes, unready_pods_are_reported) {
  auto const fault = [&](pod_row const& row) {
    http_service const server([&](http_seen const&) { return http_reply{200, list({row})}; });
    auto r = off(server.url());
    return fault_of([&] { r.cluster_spec(); }, code::not_ready);
  };
  EXPECT_EQ(fault({"p", "Pending", ""}), "Pod \"p\" is not running; phase: \"Pending\"");
  EXPECT_EQ(fault({"p", "Running", ""}), "Pod \"p\" has no podIP yet");
  EXPECT_EQ(fault({"p", "Running", "10.0.0.1", "10.1.0.1", true}),
            "Pod \"p\" is not running; phase: \"Running\", and it is being deleted");
  http_service const none([&](http_seen const&) { return http_reply{200, list({})}; });
  auto r = off(none.url());
  EXPECT_EQ(fault_of([&] { r.cluster_spec(); }, code::not_ready),
            "job worker: no pod in namespace default has the labels app=x");
}

TEST_F(kubernetes, pods_that_have_ended_can_be_left_out) {
  serve({{"app=x",
          {{"p-0", "Failed", ""}, {"p-1", "Running", "10.0.0.1"}, {"p-2", "Succeeded", ""}}}},
        false);
  auto o = options({{"worker", {"app=x"}}});
  o.server = server_->url();
  kubernetes_resolver strict(environment({}), o);
  EXPECT_TRUE(
      holds(fault_of([&] { strict.cluster_spec(); }, code::not_ready), "phase: \"Failed\""));
  o.skip_finished = true;
  EXPECT_EQ(kubernetes_resolver(environment({}), o).cluster_spec().size(), 1u);
}

TEST_F(kubernetes, resolver_can_wait_until_the_cluster_is_complete) {
  serve({{"app=x", {{"p-0", "Running", "10.0.0.1"}, {"p-1", "Running", "10.0.0.2"}}}}, false);
  auto o = options({{"worker", {"app=x"}}});
  o.server = server_->url();
  o.tasks = 3;
  kubernetes_resolver r(environment({}), o);
  EXPECT_EQ(fault_of([&] { r.cluster_spec(); }, code::not_ready),
            "2 pods are running, 3 are expected");
  o.tasks = 2;
  EXPECT_EQ(kubernetes_resolver(environment({}), o).cluster_spec().size(), 2u);
}

TEST_F(kubernetes, a_pod_cannot_be_two_tasks) {
  serve({{"a=1", {{"p-0", "Running", "10.0.0.1"}}}, {"b=2", {{"p-0", "Running", "10.0.0.1"}}}},
        false);
  auto o = options({{"worker", {"a=1", "b=2"}}});
  o.server = server_->url();
  kubernetes_resolver r(environment({}), o);
  EXPECT_EQ(fault_of([&] { r.cluster_spec(); }),
            "Pod \"p-0\" is selected twice: by 'a=1' and by 'b=2'");
}

TEST_F(kubernetes, refusals_contain_the_fix) {
  auto const fault = [&](unsigned status, code expected) {
    http_service const server([&](http_seen const&) {
      return http_reply{status, R"({"kind":"Status","message":"no"})"};
    });
    auto o = options({{"worker", {"app=x"}}});
    o.server = server.url();
    o.token_file = account_.path() + "/token";
    o.name_space = "ml";
    kubernetes_resolver r(environment({}), o);
    return fault_of([&] { r.cluster_spec(); }, expected);
  };
  EXPECT_TRUE(holds(fault(401, code::denied), "401: no; the token of " + account_.path()));
  EXPECT_TRUE(
      holds(fault(403, code::denied), "403: no; allow the account to list pods in namespace ml"));
  EXPECT_TRUE(holds(fault(404, code::missing), "is a Kubernetes API server"));
  EXPECT_TRUE(holds(fault(500, code::unreachable), "500: no"));
}

TEST_F(kubernetes, options_that_contradict_each_other_are_refused) {
  auto const fault = [&](kubernetes_resolver::options const& o) {
    return fault_of([&] { kubernetes_resolver(environment({}), o).cluster_spec(); });
  };
  auto o = options({{"worker", {"app=x"}}});
  o.where = kubernetes_resolver::location::off_cluster;
  EXPECT_TRUE(holds(fault(o), "server=https://HOST:PORT"));
  o.server = "https://h";
  o.where = kubernetes_resolver::location::within_cluster;
  EXPECT_TRUE(holds(fault(o), "remove server="));
  o.where = kubernetes_resolver::location::automatic;
  o.server = "http://example.com";
  o.token_file = "/t";
  EXPECT_TRUE(holds(fault(o), "a token can be sent only over https://"));
  o.server = "example.com";
  EXPECT_TRUE(holds(fault(o), "expected http://HOST:PORT or https://HOST:PORT"));
  EXPECT_TRUE(holds(fault(options({})), "no job"));
  EXPECT_TRUE(holds(fault(options({{"ps", {}}})), "job ps has no label selector"));
  o = options({{"worker", {"app=x"}}});
  o.port = 70000;
  EXPECT_TRUE(holds(fault(o), "port 70000 is not between 1 and 65535"));
}

TEST(natural_order, sorts_numbers_by_value) {
  using cluster::natural_less;
  EXPECT_TRUE(natural_less("w-2", "w-10"));
  EXPECT_FALSE(natural_less("w-10", "w-2"));
  EXPECT_TRUE(natural_less("w", "w-0"));
  EXPECT_TRUE(natural_less("a-9-x", "a-10-a"));
  EXPECT_TRUE(natural_less("w-02", "w-2"));
  EXPECT_FALSE(natural_less("w-2", "w-02"));
  EXPECT_FALSE(natural_less("w-2", "w-2"));
  EXPECT_TRUE(natural_less("1", "a"));
  EXPECT_TRUE(natural_less("99999999999999999999998", "99999999999999999999999"));
}

}  // namespace
}  // namespace muster::testing
