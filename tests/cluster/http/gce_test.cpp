#include "muster/gce_resolver.hpp"
#include "tests/cluster/http/google_fixture.hpp"

namespace muster::testing {
namespace {

using code = cluster_error::code;

class gce : public google {
 protected:
  static constexpr auto listing =
      "/compute/v1/projects/my-project/zones/us-central1-b/instanceGroups/g/"
      "listInstances?orderBy=name&maxResults=500";

  static std::string row(std::string const& name, std::string const& status = "RUNNING") {
    return R"({"instance":"https://www.googleapis.com/compute/v1/projects/my-project/zones/)"
           R"(us-central1-b/instances/)" +
           name + R"(","status":")" + status + R"("})";
  }
  void machine_with_ip(std::string const& name, std::string const& ip) {
    reply(
        "/compute/v1/projects/my-project/zones/us-central1-b/instances/" + name,
        {200, R"({"name":")" + name + R"(","networkInterfaces":[{"networkIP":")" + ip + R"("}]})"});
  }
  gce_resolver::options options() {
    gce_resolver::options o;
    o.instance_group = "g";
    o.api_url = url() + "/compute/v1";
    o.time = time_.source();
    return o;
  }
  gce_resolver resolver() { return {machine(), options()}; }
};

TEST_F(gce, running_machines_are_workers_with_their_internal_addresses) {
  reply(listing, {200, R"({"items":[)" + row("w-1") + "," + row("w-0") + "]}"});
  machine_with_ip("w-0", "10.0.0.7");
  machine_with_ip("w-1", "10.0.0.3");
  auto r = resolver();
  EXPECT_EQ(r.cluster_spec(), spec_of({{"worker", {{0, "10.0.0.7:8470"}, {1, "10.0.0.3:8470"}}}}));
  EXPECT_EQ(r.master(), "grpc://10.0.0.7:8470");
  EXPECT_EQ(r.master("worker", 1, ""), "10.0.0.3:8470");
  auto const seen = server_.seen();
  auto const post =
      std::find_if(seen.begin(), seen.end(), [](auto const& s) { return s.method == "POST"; });
  ASSERT_NE(post, seen.end());
  EXPECT_EQ(post->body, R"({"instanceState":"RUNNING"})");
  EXPECT_EQ(post->headers.at("authorization"), "Bearer machine-token");
  EXPECT_EQ(seen.at(0).headers.at("metadata-flavor"), "Google");
}

// TensorFlow sorts addresses as text, so a new address can change every index.
TEST_F(gce, the_index_follows_the_name_and_not_the_address) {
  std::string rows;
  for (int i = 0; i < 12; ++i) {
    auto const name = "w-" + std::to_string(i);
    rows += (i ? "," : "") + row(name);
    machine_with_ip(name, "10.0.0." + std::to_string(30 - i));
  }
  reply(listing, {200, R"({"items":[)" + rows + "]}"});
  auto const spec = resolver().cluster_spec();
  for (int i = 0; i < 12; ++i)
    EXPECT_EQ(spec.task_address("worker", i), "10.0.0." + std::to_string(30 - i) + ":8470");
}

TEST_F(gce, all_pages_are_read_and_stopped_machines_are_excluded) {
  reply(listing, {200, R"({"items":[)" + row("a") + R"(],"nextPageToken":"t/2"})"});
  reply(std::string(listing) + "&pageToken=t%2F2", {200, R"({"nextPageToken":"t3"})"});
  reply(std::string(listing) + "&pageToken=t3",
        {200, R"({"items":[)" + row("b", "STOPPING") + "," + row("c") + "]}"});
  machine_with_ip("a", "10.0.0.1");
  machine_with_ip("c", "10.0.0.3");
  EXPECT_EQ(resolver().cluster_spec().size(), 2u);
}

TEST_F(gce, a_listing_that_never_ends_is_an_error) {
  reply(listing, {200, R"({"nextPageToken":"t"})"});
  reply(std::string(listing) + "&pageToken=t", {200, R"({"nextPageToken":"t"})"});
  EXPECT_TRUE(holds(fault_of([&] { resolver().cluster_spec(); }), "is longer than 2000 pages"));
}

TEST_F(gce, project_zone_port_job_and_token_can_be_given) {
  temporary_directory const dir;
  auto o = options();
  o.project = "p";
  o.region = "r";
  o.port = 80;
  o.task_type = "ps";
  o.token_file = dir.write("token", "file-token\n");
  reply(
      "/compute/v1/projects/p/regions/r/instanceGroups/g/listInstances?orderBy=name&maxResults=500",
      {200, R"({"items":[)" + row("a") + "]}"});
  machine_with_ip("a", "10.0.0.1");
  gce_resolver r(environment({{"GCE_METADATA_HOST", "127.0.0.1:1"}}), o);
  EXPECT_EQ(r.cluster_spec(), spec_of({{"ps", {{0, "10.0.0.1:80"}}}}));
  EXPECT_EQ(last().headers.at("authorization"), "Bearer file-token");
}

TEST_F(gce, without_a_type_or_an_index_there_is_no_master) {
  reply(listing, {200, R"({"items":[)" + row("a") + "]}"});
  machine_with_ip("a", "10.0.0.1");
  auto r = resolver();
  r.task_id({});
  EXPECT_EQ(r.master(), "");
  EXPECT_TRUE(holds(fault_of([&] { r.task_type("ps"); }), "all machines belong to job worker"));
  EXPECT_EQ(r.task_type(), "worker");
}

TEST_F(gce, machine_of_the_group_finds_its_own_index) {
  reply(listing, {200, R"({"items":[)" + row("w-10") + "," + row("w-9") + "]}"});
  machine_with_ip("w-9", "10.0.0.9");
  machine_with_ip("w-10", "10.0.0.10");
  auto o = options();
  o.find_own = true;
  says("instance/name", "w-10");
  gce_resolver r(machine(), o);
  EXPECT_EQ(r.task_id(), 1);
  EXPECT_EQ(r.master(), "grpc://10.0.0.10:8470");
  r.task_id(0);
  EXPECT_EQ(r.master(), "grpc://10.0.0.9:8470");
  says("instance/name", "stranger");
  gce_resolver stranger(machine(), o);
  EXPECT_TRUE(holds(fault_of([&] { stranger.cluster_spec(); }, code::missing),
                    "this machine, stranger, is not running in instance group g"));
}

TEST_F(gce, resolver_can_wait_until_the_group_is_complete) {
  reply(listing, {200, R"({"items":[)" + row("a") + "]}"});
  machine_with_ip("a", "10.0.0.1");
  auto o = options();
  o.tasks = 2;
  gce_resolver r(machine(), o);
  EXPECT_EQ(fault_of([&] { r.cluster_spec(); }, code::not_ready),
            "instance group g: 1 machines are running, 2 are expected");
}

TEST_F(gce, an_ipv6_machine_has_its_address_in_brackets) {
  reply(listing, {200, R"({"items":[)" + row("a") + "]}"});
  reply("/compute/v1/projects/my-project/zones/us-central1-b/instances/a",
        {200, R"({"networkInterfaces":[{"ipv6Address":"2001:db8::1"}]})"});
  EXPECT_EQ(resolver().cluster_spec().task_address("worker", 0), "[2001:db8::1]:8470");
}

TEST_F(gce, errors_name_the_field_the_group_or_the_permission) {
  auto const fault = [&](http_reply const& r, code expected) {
    reply(listing, r);
    return fault_of([&] { resolver().cluster_spec(); }, expected);
  };
  EXPECT_EQ(fault({200, "{}"}, code::not_ready),
            "instance group g of zones/us-central1-b in project my-project has no running machine");
  EXPECT_TRUE(
      holds(fault({200, R"({"items":[{}]})"}, code::missing), "items[0].instance is missing"));
  EXPECT_TRUE(holds(fault({200, R"({"items":[{"instance":"http://evil/x"}]})"}, code::invalid),
                    "items[0].instance is 'http://evil/x', not an instance's URL"));
  EXPECT_TRUE(holds(fault({403, R"({"error":{"message":"denied"}})"}, code::denied),
                    "403: denied; grant the service account compute.instanceGroups.list"));
  EXPECT_TRUE(holds(fault({404, R"({"error":{"message":"no group g"}})"}, code::missing),
                    "404: no group g"));
  EXPECT_TRUE(holds(fault({200, R"({"items":[)" + row("a") + "]}"}, code::missing),
                    "instances/a: 404: no /compute"));
  reply("/compute/v1/projects/my-project/zones/us-central1-b/instances/a",
        {200, R"({"networkInterfaces":[]})"});
  EXPECT_TRUE(holds(fault({200, R"({"items":[)" + row("a") + "]}"}, code::missing),
                    "networkInterfaces[0] is missing"));
}

TEST_F(gce, options_that_contradict_each_other_are_refused) {
  auto o = options();
  o.instance_group.clear();
  EXPECT_TRUE(holds(fault_of([&] { gce_resolver(machine(), o); }), "instance group is missing"));
  o = options();
  o.zone = o.region = "x";
  EXPECT_TRUE(holds(fault_of([&] { gce_resolver(machine(), o); }), "not both"));
  o = options();
  o.api_url = "http://example.com";
  EXPECT_TRUE(holds(fault_of([&] { gce_resolver(machine(), o).cluster_spec(); }),
                    "a token can be sent only over https://"));
}

using metadata = google;

TEST_F(metadata, answer_without_the_google_header_is_rejected) {
  reply("/computeMetadata/v1/project/project-id", {200, "welcome to the hotel"});
  cluster::google_metadata m(machine(), {}, time_.source());
  auto const line = fault_of([&] { m.project(); }, code::unreachable);
  EXPECT_TRUE(holds(line, "no header Metadata-Flavor: Google")) << line;
  reply("/computeMetadata/v1/project/project-id", {200, "x", {{"Metadata-Flavor", "Evil"}}});
  EXPECT_TRUE(holds(fault_of([&] { m.project(); }, code::unreachable), "not from the metadata"));
}

TEST_F(metadata, token_is_cached_until_a_minute_before_it_expires) {
  cluster::google_metadata m(machine(), {}, time_.source());
  EXPECT_EQ(m.token(), "machine-token");
  time_.advance(3500s);
  m.token();
  EXPECT_EQ(asked("/computeMetadata/v1/instance/service-accounts"), 1u);
  time_.advance(41s);
  m.token();
  EXPECT_EQ(asked("/computeMetadata/v1/instance/service-accounts"), 2u);
}

TEST_F(metadata, environment_variables_can_set_the_server) {
  auto const address = "127.0.0.1:" + std::to_string(server_.port());
  cluster::google_metadata by_ip(environment({{"GCE_METADATA_IP", address}}), {}, time_.source());
  EXPECT_EQ(by_ip.zone(), "us-central1-b");
  cluster::google_metadata both(
      environment({{"GCE_METADATA_HOST", address}, {"GCE_METADATA_IP", "127.0.0.1:1"}}), {},
      time_.source());
  EXPECT_EQ(both.local_ip(), "10.128.1.2");
}

TEST_F(metadata, is_unavailable_outside_google_cloud) {
  cluster::google_metadata m(environment({{"GCE_METADATA_HOST", "127.0.0.1:1"}}), {},
                             time_.source());
  auto const line = fault_of([&] { m.project(); }, code::unreachable);
  EXPECT_TRUE(holds(line, "this works only on a Google Cloud machine")) << line;
  cluster::google_metadata here(machine(), {}, time_.source());
  EXPECT_TRUE(holds(fault_of([&] { here.get("instance/attributes/none"); }, code::missing), "404"));
  says("project/project-id", "two\nlines");
  EXPECT_TRUE(holds(fault_of([&] { here.project(); }), "not one line"));
}

}  // namespace
}  // namespace muster::testing
