#include "muster/tpu_resolver.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>

#include "base/http_client/name_lookup.hpp"
#include "launch/cluster/http/addresses.hpp"
#include "launch/cluster/http/google_metadata.hpp"
#include "launch/cluster/http/tpu_devices.hpp"
#include "launch/cluster/resolver_text.hpp"

namespace muster {

using cluster::invalid;
using cluster::missing;

namespace {

constexpr int serve_port = 8476;

constexpr std::chrono::seconds lookup_time{10};

/// Returns the local address of the route to `address` ("10.0.0.1:8470"). Connecting a UDP socket
/// sends no packets.
/// @throws cluster_error (unreachable) if there is no route or the name is unknown
std::string local_address_towards(std::string const& address) {
  auto const port = address.substr(address.rfind(':') + 1);
  auto const found =
      look_up(cluster::host_of(address), port, std::chrono::steady_clock::now() + lookup_time);
  auto ec = found.error;
  for (auto const& there : found.endpoints) {
    boost::asio::io_context context(1);
    boost::asio::ip::udp::socket socket(context);
    boost::asio::ip::udp::endpoint const target(there.address(), there.port());
    socket.open(target.protocol(), ec);
    if (!ec) socket.connect(target, ec);
    if (ec) continue;
    auto const here = socket.local_endpoint(ec);
    if (!ec) return here.address().to_string();
  }
  throw cluster_error(cluster_error::code::unreachable,
                      "no network interface of this machine can reach " + address +
                          (ec ? ": " + ec.message() : std::string()));
}

}  // namespace

tpu_resolver::tpu_resolver(environment_lookup environment, options o)
    : options_(std::move(o)), tpu_(std::move(environment), options_.tpu) {
  if (options_.job_name.empty()) throw invalid("tpu: the job name is missing");
  if (options_.coordinator_name.empty() && !options_.coordinator_address.empty())
    throw invalid("tpu: the coordinator at " + options_.coordinator_address +
                  " has no name; pass a coordinator name as well");
  if (options_.coordinator_name == options_.job_name)
    throw invalid("tpu: the job and the coordinator are both named " + options_.job_name);
  if (!options_.coordinator_address.empty())
    coordinator_ = cluster::parse_endpoint(options_.coordinator_address, serve_port,
                                           "tpu: coordinator address");
  task_type_ = options_.job_name;
  task_id_ = 0;
  if (tpu_.name().google()) {
    environment_ = "google";
    rpc_layer_.clear();
  } else {
    rpc_layer_ = options_.rpc_layer;
  }
}

std::string const& tpu_resolver::coordinator(std::string const& endpoint) {
  if (!coordinator_.empty()) return coordinator_;
  // Asks the metadata server for the machine's address. In Kubernetes, this is the address of the
  // node, not of the pod.
  auto const ip =
      tpu_.name().by_api() ? tpu_.metadata().local_ip() : local_address_towards(endpoint);
  auto const port = options_.start_coordinator ? options_.start_coordinator(ip) : serve_port;
  return coordinator_ = cluster::host_port(ip, port, "tpu: coordinator");
}

muster::cluster_spec tpu_resolver::cluster_spec() {
  if (tpu_.name().google()) return {};
  std::map<std::string, muster::cluster_spec::tasks> jobs;
  auto const endpoints = tpu_.endpoints();
  auto& tasks = jobs[options_.job_name];
  for (auto const& e : endpoints) tasks.emplace(static_cast<int>(tasks.size()), e);
  if (!options_.coordinator_name.empty()) {
    if (endpoints.empty() && coordinator_.empty())
      throw missing("TPU \"" + tpu_.name().name + "\" has no network endpoints");
    jobs[options_.coordinator_name].emplace(
        0, coordinator(endpoints.empty() ? std::string() : endpoints.front()));
  }
  return muster::cluster_spec(std::move(jobs));
}

std::string tpu_resolver::coordinator_address() {
  if (options_.coordinator_name.empty() || tpu_.name().google()) return {};
  if (!coordinator_.empty()) return coordinator_;
  return cluster_spec().task_address(options_.coordinator_name, 0);
}

std::string tpu_resolver::master(std::optional<std::string> type, std::optional<int> id,
                                 std::optional<std::string> layer) {
  if (tpu_.name().google())
    return tpu_.name().local ? std::string()
                             : format_master(layer.value_or(rpc_layer()), tpu_.name().master);
  auto const spec = cluster_spec();
  auto whose = type ? type : task_type();
  auto which = id ? id : task_id();
  if (!whose || !which) {
    whose = options_.job_name;
    which = 0;
  }
  if (spec.job(options_.job_name).empty())
    throw missing("No TPUs with the specified names exist: \"" + tpu_.name().name +
                  "\" has no network endpoints");
  return format_master(layer ? *layer : rpc_layer(), spec.task_address(*whose, *which));
}

int tpu_resolver::listed_cores() {
  for (int tries = 1;; ++tries) try {
      return cluster::find_tpu_devices(lister_()).per_host();
    } catch (cluster_error const& e) {
      if (e.kind() != cluster_error::code::unreachable) throw;
      if (tries == device_tries_max)
        throw cluster_error(e.kind(),
                            "Failed to connect to master: the TPU might not be ready "
                            "(e.g. still scheduling) or its address might be wrong; tried " +
                                std::to_string(tries) + " times: " + e.what());
      options_.tpu.time.wait(std::chrono::seconds(1));
    }
}

// Uses a TPU VM's metadata: the type of the whole TPU, and a comma-separated list of its hosts.
int tpu_resolver::local_cores() {
  auto& metadata = tpu_.metadata();
  auto const type = metadata.get("instance/attributes/accelerator-type");
  auto const hosts = metadata.get("instance/attributes/worker-network-endpoints");
  return cluster::cores_per_host(cluster::cores_of_type(type, "accelerator-type"),
                                 cluster::split(hosts, ',').size(), "accelerator-type " + type);
}

std::map<std::string, int> tpu_resolver::num_accelerators(std::optional<std::string>,
                                                          std::optional<int>) {
  if (lister_) return {{"TPU", listed_cores()}};
  if (tpu_.name().local) return {{"TPU", local_cores()}};
  if (!tpu_.name().by_api()) return {};
  auto const node = tpu_.ready_node();
  auto const origin = "TPU \"" + tpu_.name().name + "\"";
  if (node.endpoints.empty())
    throw missing(origin + " has no network endpoints, so the number of cores per host is unknown");
  int cores = 0;
  if (!node.accelerator_type.empty())
    cores = cluster::cores_of_type(node.accelerator_type, origin + ": acceleratorType");
  else if (!node.topology.empty())
    cores = cluster::cores_of_topology(node.generation, node.topology,
                                       origin + ": acceleratorConfig.topology");
  else
    throw missing(origin +
                  ": the API returned neither acceleratorType nor acceleratorConfig.topology");
  return {{"TPU", cluster::cores_per_host(cores, node.endpoints.size(), origin)}};
}

std::string tpu_resolver::coordination_leader() const {
  return tpu_.name().google() ? std::string() : "/job:" + options_.job_name + "/task:0";
}

}  // namespace muster
