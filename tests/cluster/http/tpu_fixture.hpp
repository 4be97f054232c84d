// A Cloud TPU API with the nodes of one project and zone.
#pragma once

#include "muster/tpu_resolver.hpp"
#include "tests/cluster/http/google_fixture.hpp"

namespace muster::testing {

class tpu : public google {
 protected:
  using client_options = cluster::cloud_tpu_client::options;
  using names = std::vector<std::string>;

  static std::string node_path(std::string const& name, std::string const& project = "my-project",
                               std::string const& zone = "us-central1-b") {
    return "/v2/projects/" + project + "/locations/" + zone + "/nodes/" + name;
  }
  void node(std::string const& name, std::string const& json) {
    reply(node_path(name), {200, json});
  }
  static std::string ready(std::string const& rest) { return R"({"state":"READY",)" + rest + "}"; }
  static std::string endpoints(names const& ips) {
    std::string list;
    for (auto const& ip : ips)
      list += (list.empty() ? "" : ",") + (R"({"ipAddress":")" + ip + R"(","port":8470})");
    return R"("networkEndpoints":[)" + list + "]";
  }

  client_options client_with(std::optional<names> tpu_names) {
    client_options o;
    o.tpu = std::move(tpu_names);
    o.api_url = url();
    o.time = time_.source();
    return o;
  }
  cluster::cloud_tpu_client client(std::optional<names> tpu_names = names{"n"}) {
    return {machine(), client_with(std::move(tpu_names))};
  }
  tpu_resolver::options with(std::optional<names> tpu_names) {
    tpu_resolver::options o;
    o.tpu = client_with(std::move(tpu_names));
    return o;
  }
  tpu_resolver resolver(std::optional<names> tpu_names = names{"n"}) {
    return {machine(), with(std::move(tpu_names))};
  }
  /// Sets a coordinator name and, unless empty, a coordinator address.
  tpu_resolver coordinated(std::string const& address = {},
                           std::optional<names> tpu_names = names{"n"}) {
    auto o = with(std::move(tpu_names));
    o.coordinator_name = "coordinator";
    o.coordinator_address = address;
    return {machine(), o};
  }
};

}  // namespace muster::testing
