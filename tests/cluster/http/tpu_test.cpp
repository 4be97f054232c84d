#include "launch/cluster/http/tpu_devices.hpp"
#include "tests/cluster/http/tpu_fixture.hpp"

namespace muster::testing {
namespace {

using code = cluster_error::code;

cluster::tpu_name find(std::string const& name) {
  return cluster::find_tpu(std::vector<std::string>{name}, environment({}));
}

TEST(tpu_name, can_be_addresses_with_default_ports_and_ipv6) {
  using list = std::vector<std::string>;
  EXPECT_EQ(find("grpc://10.0.0.1").endpoints, (list{"10.0.0.1:8470"}));
  EXPECT_EQ(find("grpc://a:1, grpc://b ,c:3").endpoints, (list{"a:1", "b:8470", "c:3"}));
  EXPECT_EQ(find("grpc://[fd00::1]:99,fd00::2,[fd00::3]").endpoints,
            (list{"[fd00::1]:99", "[fd00::2]:8470", "[fd00::3]:8470"}));
  for (auto const* bad : {"grpc://", "grpc://a,,b", "grpc://a:0", "grpc://a:65536", "grpc://a:b",
                          "grpc://[fd00::1", "grpc://[::1]x", "grpc://:1", "grpc://a/b"})
    EXPECT_TRUE(holds(fault_of([&] { find(bad); }), "tpu: ")) << bad;
}

TEST(tpu_name, is_local_or_a_name_or_a_full_name) {
  EXPECT_TRUE(find("local").local);
  EXPECT_TRUE(find("my-tpu").by_api());
  auto const full = find("projects/p/locations/z/nodes/n");
  EXPECT_EQ(full.name, "n");
  EXPECT_EQ(full.project, "p");
  EXPECT_EQ(full.zone, "z");
  EXPECT_TRUE(
      holds(fault_of([] { find("10.0.0.1:8470"); }), "write addresses as grpc://HOST:PORT"));
  EXPECT_TRUE(holds(fault_of([] { find("a b"); }), "'a b' is not the name of a TPU"));
  EXPECT_TRUE(holds(fault_of([] {
                      cluster::find_tpu(std::vector<std::string>{"a", "b"}, environment({}));
                    }),
                    "Using multiple TPUs"));
}

TEST(tpu_name, is_read_from_the_environment_in_the_documented_order) {
  std::map<std::string, std::string> all = {
      {"KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS", "10.0.0.1:1,10.0.0.2"},
      {"TPU_NAME", "by-name"},
      {"TPU_CONFIG", R"({"tpu_node_name":"by-config"})"}};
  auto const found = [&] { return cluster::find_tpu(std::nullopt, environment(all)); };
  EXPECT_EQ(found().endpoints.size(), 2u);
  all.erase("KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS");
  EXPECT_EQ(found().name, "by-name");
  all["TPU_NAME"] = "";
  EXPECT_EQ(found().name, "by-config");
  all["TPU_CONFIG"] = "{}";
  EXPECT_EQ(fault_of([&] { found(); }, code::missing), "TPU_CONFIG: tpu_node_name is missing");
  all["TPU_CONFIG"] = "{";
  EXPECT_TRUE(holds(fault_of([&] { found(); }), "TPU_CONFIG: not JSON"));
  all.clear();
  EXPECT_TRUE(
      holds(fault_of([&] { found(); }, code::missing), "Please provide a TPU Name to connect to"));
}

TEST(tpu_cores, follow_from_the_type_or_the_topology) {
  using namespace cluster;
  EXPECT_EQ(cores_of_type("v3-32", "t"), 32);
  EXPECT_EQ(cores_of_type("v5litepod-16", "t"), 16);
  EXPECT_EQ(cores_of_topology("V4", "2x2x4", "t"), 32);
  EXPECT_EQ(cores_of_topology("V5LITE_POD", "4x4", "t"), 16);
  EXPECT_EQ(cores_per_host(32, 4, "t"), 8);
  EXPECT_EQ(fault_of([] { cores_of_type("v3", "t"); }),
            "t is 'v3'; expected a number of cores as in v3-8");
  EXPECT_THROW(cores_of_type("v3-x", "t"), cluster_error);
  EXPECT_THROW(cores_of_topology("V4", "2x0", "t"), cluster_error);
  EXPECT_THROW(cores_of_topology("V4", "99999x99999x99999", "t"), cluster_error);
  EXPECT_TRUE(holds(fault_of([] { cores_per_host(8, 3, "t"); }), "cannot be divided equally"));
  EXPECT_THROW(cores_per_host(8, 0, "t"), cluster_error);
}

TEST_F(tpu, an_answer_without_a_state_is_taken) {
  node("n", "{" + endpoints({"10.2.3.4"}) + "}");
  EXPECT_EQ(resolver().cluster_spec(), spec_of({{"worker", {{0, "10.2.3.4:8470"}}}}));
  node("n", R"({"state":"STATE_UNSPECIFIED",)" + endpoints({"10.2.3.4"}) + "}");
  EXPECT_EQ(fault_of([&] { resolver().cluster_spec(); }, code::not_ready),
            "TPU \"n\" is not yet ready; state: \"STATE_UNSPECIFIED\"");
}

TEST_F(tpu, chips_and_servers_that_are_there_already_are_googles_own_environment) {
  auto const google_name = [&](std::string const& name, std::string const& master) {
    auto r = resolver(names{name});
    EXPECT_EQ(r.environment(), "google") << name;
    EXPECT_EQ(r.rpc_layer(), "") << name;
    EXPECT_EQ(r.cluster_spec().size(), 0u) << name;
    EXPECT_EQ(r.master(), master) << name;
  };
  google_name("local", "");
  google_name("localhost:8470", "localhost:8470");
  google_name("/bns/cell/tpu/0", "/bns/cell/tpu/0");
  EXPECT_TRUE(server_.seen().empty());
  EXPECT_EQ(resolver(names{"n"}).environment(), "");
  EXPECT_EQ(resolver(names{"localhosts"}).environment(), "");
  EXPECT_EQ(resolver(names{"n"}).rpc_layer(), "grpc");
}

TEST_F(tpu, every_api_request_sends_the_machines_token) {
  node("n", ready(endpoints({"10.2.3.4"})));
  auto r = resolver();
  r.cluster_spec();
  EXPECT_EQ(last().headers.at("authorization"), "Bearer machine-token");
  r.cluster_spec();
  EXPECT_EQ(asked("/v2/"), 2u);
}

TEST_F(tpu, a_coordinator_without_an_address_is_this_machine) {
  node("n", ready(endpoints({"10.2.3.4"})));
  auto r = coordinated();
  EXPECT_EQ(r.cluster_spec().task_address("coordinator", 0), "10.128.1.2:8476");
  auto o = with(names{"n"});
  o.coordinator_name = "chief";
  int started = 0;
  o.start_coordinator = [&](std::string const& ip) {
    EXPECT_EQ(ip, "10.128.1.2");
    ++started;
    return 4242;
  };
  tpu_resolver own(machine(), o);
  EXPECT_EQ(own.cluster_spec().task_address("chief", 0), "10.128.1.2:4242");
  own.cluster_spec();
  EXPECT_EQ(started, 1);
}

TEST_F(tpu, coordinator_with_given_addresses_uses_the_outgoing_address) {
  auto r = coordinated({}, names{"grpc://127.0.0.1:8470"});
  EXPECT_EQ(r.cluster_spec(), spec_of({{"coordinator", {{0, "127.0.0.1:8476"}}},
                                       {"worker", {{0, "127.0.0.1:8470"}}}}));
  EXPECT_TRUE(server_.seen().empty());
}

TEST_F(tpu, coordinators_that_cannot_be_are_refused) {
  auto o = with(names{"n"});
  o.coordinator_address = "10.0.0.1:1";
  EXPECT_TRUE(holds(fault_of([&] { tpu_resolver(machine(), o); }), "has no name"));
  o.coordinator_name = "worker";
  EXPECT_TRUE(holds(fault_of([&] { tpu_resolver(machine(), o); }), "both named worker"));
  o.coordinator_name = "c";
  o.coordinator_address = "a:b:c]";
  EXPECT_TRUE(holds(fault_of([&] { tpu_resolver(machine(), o); }), "coordinator address"));
  o = with(names{"n"});
  o.tpu.api_version = "v3";
  EXPECT_TRUE(holds(fault_of([&] { tpu_resolver(machine(), o); }), "neither v1 nor v2"));
}

TEST_F(tpu, local_chips_form_no_cluster) {
  auto r = resolver(names{"local"});
  EXPECT_TRUE(r.cluster_spec().empty());
  EXPECT_EQ(r.master(), "");
  EXPECT_EQ(r.coordination_leader(), "");
  EXPECT_TRUE(server_.seen().empty());
  says("instance/attributes/accelerator-type", "v3-32");
  says("instance/attributes/worker-network-endpoints", "a:8470:10.0.0.1,b,c,d");
  EXPECT_EQ(r.num_accelerators(), (std::map<std::string, int>{{"TPU", 8}}));
}

TEST_F(tpu, cores_per_host_come_from_the_api_if_devices_cannot_be_listed) {
  auto const four = endpoints({"10.2.3.4", "10.2.3.5", "10.2.3.6", "10.2.3.7"});
  node("n", ready(R"("acceleratorType":"v3-32",)" + four));
  auto r = resolver();
  EXPECT_EQ(r.num_accelerators(), (std::map<std::string, int>{{"TPU", 8}}));
  node("n", ready(R"("acceleratorConfig":{"type":"V4","topology":"2x2x4"},)" + four));
  EXPECT_EQ(r.num_accelerators(), (std::map<std::string, int>{{"TPU", 8}}));
  node("n", ready(R"("acceleratorType":"v3-30",)" + four));
  EXPECT_TRUE(holds(fault_of([&] { r.num_accelerators(); }), "30 cores cannot be divided equally"));
  node("n", ready(four));
  EXPECT_TRUE(holds(fault_of([&] { r.num_accelerators(); }, code::missing), "neither accel"));
  EXPECT_TRUE(resolver(names{"grpc://10.0.0.1"}).num_accelerators().empty());
}

TEST_F(tpu, listing_devices_is_retried_until_it_succeeds) {
  auto r = resolver();
  int tries = 0;
  r.list_devices([&]() -> names {
    if (++tries < 3) throw cluster_error(code::unreachable, "not yet");
    return {"/job:worker/task:0/device:TPU:0"};
  });
  EXPECT_EQ(r.num_accelerators(), (std::map<std::string, int>{{"TPU", 1}}));
  EXPECT_EQ(tries, 3);
  r.list_devices([] { return names{"/job:worker/task:0/device:CPU:0"}; });
  EXPECT_EQ(r.num_accelerators(), (std::map<std::string, int>{{"TPU", 0}}));
}

TEST_F(tpu, discovery_document_sets_the_api_address) {
  reply("/discovery/tpu/v1",
        {200, R"({"rootUrl":")" + url() + R"(/moved/","servicePath":"","version":"v1"})"});
  reply("/moved/v1/projects/my-project/locations/us-central1-b/nodes/n",
        {200, ready(endpoints({"10.2.3.4"}))});
  auto o = with(names{"n"});
  o.tpu.api_version = "v1";
  o.tpu.discovery_url = "http://127.0.0.1:1/";
  tpu_resolver r(machine({{"TPU_API_DISCOVERY_URL", url() + "/discovery/{api}/{apiVersion}"}}), o);
  EXPECT_EQ(r.cluster_spec().size(), 1u);
  reply("/discovery/tpu/v1", {200, "{}"});
  EXPECT_TRUE(holds(fault_of([&] { r.cluster_spec(); }, code::missing), "rootUrl is missing"));
}

TEST_F(tpu, answers_that_are_not_as_documented_name_the_field) {
  auto const fault = [&](std::string const& rest, code expected) {
    node("n", ready(rest));
    return fault_of([&] { resolver().cluster_spec(); }, expected);
  };
  EXPECT_TRUE(holds(fault(R"("networkEndpoints":[{"port":1}])", code::missing),
                    "nodes/n: networkEndpoints[0].ipAddress is missing"));
  EXPECT_TRUE(
      holds(fault(R"("networkEndpoints":[{"ipAddress":"10.0.0.1","port":"x"}])", code::invalid),
            "networkEndpoints[0].port is a string, not a whole number"));
  EXPECT_TRUE(
      holds(fault(R"("networkEndpoints":[{"ipAddress":"10.0.0.1","port":0}])", code::invalid),
            "port 0 is not between"));
  EXPECT_TRUE(holds(fault(R"("networkEndpoints":{})", code::invalid), "not a list"));
  node("n", ready(R"("symptoms":[{"symptomType":"OUT_OF_MEMORY","createTime":"noon"}])"));
  EXPECT_TRUE(holds(fault_of([&] { client().recoverable(); }),
                    "symptoms[0].createTime is 'noon', not a time"));
}

TEST_F(tpu, endpoints_can_be_ipv6_and_lack_a_port) {
  node("n", ready(R"("networkEndpoints":[{"ipAddress":"2001:db8::1"}])"));
  EXPECT_EQ(resolver().cluster_spec().task_address("worker", 0), "[2001:db8::1]:8470");
}

TEST_F(tpu, refusals_name_the_permission_and_keep_their_code) {
  reply(node_path("n"), {403, R"({"error":{"message":"no"}})"});
  auto const line = fault_of([&] { resolver().cluster_spec(); }, code::denied);
  EXPECT_TRUE(holds(line, "Could not lookup TPU metadata from name \"n\": GET ")) << line;
  EXPECT_TRUE(holds(line, "403: no; grant the service account tpu.nodes.get")) << line;
}

TEST_F(tpu, coordinator_address_and_recoverability_are_available) {
  node("n", ready(endpoints({"10.2.3.4"})));
  EXPECT_EQ(resolver().coordinator_address(), "");
  EXPECT_EQ(coordinated().coordinator_address(), "10.128.1.2:8476");
  EXPECT_EQ(coordinated("10.9.9.9").coordinator_address(), "10.9.9.9:8476");
  cluster::tpu_node gone;
  gone.state = "PREEMPTED";
  EXPECT_FALSE(client().recoverable(gone));
}

TEST_F(tpu, waiting_continues_during_outages_but_not_after_refusals) {
  replies(node_path("n"), {{503, ""},
                           {503, ""},
                           {503, ""},
                           {503, ""},
                           {503, ""},
                           {200, R"({"state":"READY","health":"HEALTHY"})"}});
  client().wait_for_healthy();
  reply(node_path("n"), {403, ""});
  auto c = client();
  fault_of([&] { c.wait_for_healthy(); }, code::denied);
  auto given = client(names{"grpc://10.0.0.1"});
  fault_of([&] { given.wait_for_healthy(); }, code::invalid);
  EXPECT_FALSE(given.state());
  EXPECT_FALSE(given.health());
}

TEST_F(tpu, hosts_that_cannot_change_their_version_are_counted) {
  auto o = client_with(names{"grpc://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3"});
  o.version_port = server_.port();
  replies("/requestversion/2.5?restartType=always", {{200, ""}, {404, ""}, {503, "busy"}});
  cluster::cloud_tpu_client c(machine(), o);
  auto const line = fault_of([&] { c.configure_version("2.5"); }, code::missing);
  EXPECT_EQ(line.find("2 of 3 hosts did not change their version: POST "), 0u) << line;
  EXPECT_TRUE(holds(line, "404; this host does not support changing its version")) << line;
  EXPECT_EQ(server_.seen().size(), 3u);  // a request that can restart a host is never repeated
}

TEST_F(tpu, the_leader_is_the_jobs_first_task) {
  EXPECT_EQ(resolver().coordination_leader(), "/job:worker/task:0");
}

}  // namespace
}  // namespace muster::testing
