#include "muster/kubernetes_resolver.hpp"

#include <algorithm>

#include "base/http_client/url.hpp"
#include "base/text.hpp"
#include "launch/cluster/http/addresses.hpp"
#include "launch/cluster/http/api_client.hpp"
#include "launch/cluster/http/json_place.hpp"
#include "launch/cluster/http/natural_order.hpp"
#include "launch/cluster/http/secret_file.hpp"
#include "launch/cluster/resolver_text.hpp"

namespace muster {

namespace cluster {

struct kubernetes_pod {
  std::string name_space, name, phase, pod_ip, host_ip;
  bool ending = false;
  std::string hostname = {};  // if empty, the pod's name applies
  /// {"GPU", 8} for a container limited to nvidia.com/gpu: 8.
  std::map<std::string, int> accelerators = {};
};

namespace {

constexpr int pods_of_a_page = 500;
constexpr int pod_pages_max = 2000;

constexpr std::int64_t accelerators_max = 10'000;

/// Returns GPU for "nvidia.com/gpu", TPU for "google.com/tpu", and "" for other resources.
std::string accelerator_of(std::string const& resource) {
  if (resource.ends_with("/gpu")) return "GPU";
  if (resource.ends_with("/tpu")) return "TPU";
  return {};
}

std::map<std::string, int> accelerators_of(json_place const& spec) {
  std::map<std::string, int> all;
  for (auto const& container : spec.items_of("containers")) {
    auto const resources = container.find("resources");
    if (!resources) continue;
    for (auto const& [resource, amount] : resources->members_of("limits")) {
      auto const kind = accelerator_of(resource);
      if (kind.empty()) continue;
      auto const count = amount.number();
      if (count < 0 || count > accelerators_max)
        throw invalid(amount.where() + " is " + std::to_string(count) + "; it must be from 0 to " +
                      std::to_string(accelerators_max));
      auto& sum = all[kind];
      sum += static_cast<int>(count);
      if (sum > accelerators_max)
        throw invalid(amount.where() + ": the containers of the pod have more than " +
                      std::to_string(accelerators_max) + " accelerators");
    }
  }
  return all;
}

/// Maximum number of times that a listing is restarted. A listing can expire while its pages are
/// read.
constexpr int restarts_max = 3;
constexpr unsigned gone = 410;

/// Returns the pods in the API's order.
/// @param name_space namespace; "*" means all namespaces
/// @throws cluster_error (missing or invalid) if the answer is malformed, or there are more pods
///   than a cluster can have
/// @throws cluster_error for the same reasons as api_client
std::vector<kubernetes_pod> list_kubernetes_pods(api_client& api, std::string const& server,
                                                 std::string const& name_space,
                                                 std::string const& selector) {
  auto const scope = name_space == "*" ? "" : "/namespaces/" + percent_encoded(name_space);
  auto const first = server + "/api/v1" + scope +
                     "/pods?labelSelector=" + percent_encoded(selector) +
                     "&limit=" + std::to_string(pods_of_a_page);
  std::vector<kubernetes_pod> all;
  std::string next;
  int restarts = 0;
  for (int page = 0; page < pod_pages_max; ++page) {
    auto const url = next.empty() ? first : first + "&continue=" + percent_encoded(next);
    api_request const request{"GET", url};
    auto const answer = api.send(request);
    if (answer.status == gone && !next.empty() && ++restarts <= restarts_max) {
      all.clear();
      next.clear();
      continue;
    }
    auto const body = api.read(request, answer);
    json_place const top(body, url);
    for (auto const& item : top.at("items").items()) {
      auto const meta = item.at("metadata");
      auto const status = item.at("status");
      all.push_back({meta.text_of("namespace"), meta.at("name").text(), status.text_of("phase"),
                     status.text_of("podIP"), status.text_of("hostIP"),
                     meta.find("deletionTimestamp").has_value()});
      if (auto const spec = item.find("spec")) {
        all.back().hostname = spec->text_of("hostname");
        all.back().accelerators = accelerators_of(*spec);
      }
    }
    auto const meta = top.find("metadata");
    next = meta ? meta->text_of("continue") : std::string();
    if (next.empty()) return all;
    if (all.size() > cluster_spec::tasks_max)
      throw invalid(first + ": the list contains more pods than " +
                    std::to_string(cluster_spec::tasks_max));
  }
  throw invalid(first + ": the list is longer than " + std::to_string(pod_pages_max) + " pages");
}

}  // namespace
}  // namespace cluster

using cluster::api_client;
using cluster::invalid;
using cluster::missing;
using cluster::quoted;

struct kubernetes_resolver::access {
  std::string server, token_file, ca_file, name_space;
  bool verify = true;
};

kubernetes_resolver::location kubernetes_resolver::parse_location(std::string_view text) {
  if (text == "auto") return location::automatic;
  if (text == "within-cluster") return location::within_cluster;
  if (text == "off-cluster") return location::off_cluster;
  throw invalid("location is " + quoted(text) + ", not auto, within-cluster or off-cluster");
}

kubernetes_resolver::kubernetes_resolver(environment_lookup environment, options o)
    : environment_lookup_(std::move(environment)), options_(std::move(o)) {
  rpc_layer_ = options_.rpc_layer;
  bool const off = options_.where == location::off_cluster;
  if (off && options_.server.empty())
    throw invalid(
        "kubernetes: the API server is missing; outside the cluster pass server=https://HOST:PORT");
  if (options_.where == location::within_cluster && !options_.server.empty())
    throw invalid(
        "kubernetes: within the cluster, the API server is found automatically; remove server=");
  if (options_.jobs.empty()) throw invalid("kubernetes: no job has a label selector");
  for (auto const& [job, selectors] : options_.jobs)
    if (selectors.empty()) throw invalid("kubernetes: job " + job + " has no label selector");
  cluster::host_port("pod", options_.port, "kubernetes");
}

kubernetes_resolver::access kubernetes_resolver::find_access() const {
  if (!options_.server.empty()) {
    auto server = options_.server;
    while (server.ends_with('/')) server.pop_back();
    auto const target = muster::parse_http_url(server);
    if (!target) throw invalid("kubernetes: server " + target.error().message);
    return {server, options_.token_file, options_.ca_file,
            options_.name_space.empty() ? "default" : options_.name_space, options_.verify};
  }
  auto const variable = [this](std::string const& name) {
    auto const value = environment_lookup_(name);
    if (!value || value->empty())
      throw missing(name +
                    " is not set, so this process is not in a Kubernetes pod; outside the cluster "
                    "pass server=https://HOST:PORT, token-file= and ca-file=");
    return *value;
  };
  auto const host = variable("KUBERNETES_SERVICE_HOST"), port = variable("KUBERNETES_SERVICE_PORT");
  auto const number = cluster::parse_count(port, 65535);
  if (!number) throw invalid("KUBERNETES_SERVICE_PORT is " + quoted(port) + ", not a port");
  auto const& account = options_.service_account;
  access a{"https://" + cluster::host_port(host, *number, "KUBERNETES_SERVICE_HOST"),
           account + "/token", account + "/ca.crt", options_.name_space, true};
  if (a.name_space.empty())
    a.name_space = cluster::read_secret(account + "/namespace", cluster_error::code::missing,
                                        "set the namespace with namespace=");
  return a;
}

std::string kubernetes_resolver::address(pod const& p) const {
  auto const not_ready = [&](std::string const& why) {
    return cluster_error(cluster_error::code::not_ready, "Pod \"" + p.name + "\" " + why);
  };
  if (p.phase != "Running") throw not_ready("is not running; phase: \"" + p.phase + "\"");
  if (p.ending) throw not_ready("is not running; phase: \"Running\", and it is being deleted");
  auto const& ip = options_.host_ip ? p.host_ip : p.pod_ip;
  if (ip.empty())
    throw not_ready(std::string("has no ") + (options_.host_ip ? "hostIP" : "podIP") + " yet");
  return cluster::host_port(ip, options_.port, "Pod \"" + p.name + "\"");
}

std::vector<kubernetes_resolver::pod> kubernetes_resolver::chosen(
    api_client& api, access const& a, std::string const& selector) const {
  auto found = cluster::list_kubernetes_pods(api, a.server, a.name_space, selector);
  if (options_.skip_finished)
    std::erase_if(found,
                  [](pod const& p) { return p.phase == "Succeeded" || p.phase == "Failed"; });
  std::sort(found.begin(), found.end(), [this](pod const& x, pod const& y) {
    if (x.name == y.name) return x.name_space < y.name_space;
    return options_.natural_order ? cluster::natural_less(x.name, y.name) : x.name < y.name;
  });
  return found;
}

cluster::api_service kubernetes_resolver::service(access const& a) const {
  cluster::api_service s{a.ca_file, a.verify};
  if (!a.token_file.empty())
    s.token = [a] {
      return cluster::read_secret(a.token_file, cluster_error::code::denied,
                                  "mount a service account's token at this path");
    };
  s.remedy = [a](unsigned status) -> std::string {
    auto const where = a.name_space == "*" ? "all namespaces" : "namespace " + a.name_space;
    if (status == 401 && a.token_file.empty())
      return "the server requires a token; pass token-file=";
    if (status == 401)
      return "the token of " + a.token_file + " belongs to another cluster or has expired";
    if (status == 403)
      return "allow the account to list pods in " + where + " (a Role and a RoleBinding)";
    if (status == 404) return "check that " + a.server + " is a Kubernetes API server";
    return {};
  };
  s.limits = options_.limits;
  s.time = options_.time;
  return s;
}

void kubernetes_resolver::learn_own_task() {
  if (!asked_ && options_.server.empty()) cluster_spec();
}

std::optional<std::string> kubernetes_resolver::task_type() {
  if (task_type_) return task_type_;
  learn_own_task();
  return own_task_ ? std::optional(own_task_->first) : std::nullopt;
}

std::optional<int> kubernetes_resolver::task_id() {
  if (task_id_) return task_id_;
  learn_own_task();
  return own_task_ ? std::optional(own_task_->second) : std::nullopt;
}

std::map<std::string, int> kubernetes_resolver::num_accelerators(std::optional<std::string> type,
                                                                 std::optional<int> id) {
  if (lister_) return cluster_resolver::num_accelerators(type, id);
  cluster_spec();
  std::map<std::string, int> all;
  for (auto const& [task, own] : accelerators_)
    if (!type || !id || task == std::pair(*type, *id))
      for (auto const& [kind, count] : own) all[kind] += count;
  return all;
}

// Matches no pod off the cluster, where the environment variables describe a different machine, or
// in all namespaces, where a pod's name is not unique.
std::function<bool(kubernetes_resolver::pod const&)> kubernetes_resolver::find_self() const {
  if (!options_.server.empty() || options_.name_space == "*")
    return [](pod const&) { return false; };
  auto const by_name = environment_lookup_("POD_NAME").value_or("");
  auto const by_host = environment_lookup_("HOSTNAME").value_or("");
  return [by_name, by_host](pod const& p) {
    if (!by_name.empty()) return p.name == by_name;
    return !by_host.empty() && (p.hostname.empty() ? p.name : p.hostname) == by_host;
  };
}

muster::cluster_spec kubernetes_resolver::cluster_spec() {
  auto const a = find_access();
  api_client api(service(a));
  std::map<std::string, muster::cluster_spec::tasks> jobs;
  std::map<std::string, std::string> selected_by;
  own_task_.reset();
  accelerators_.clear();
  auto const self = find_self();
  for (auto const& [job, selectors] : options_.jobs) {
    auto& tasks = jobs[job];
    for (auto const& selector : selectors) {
      for (auto const& p : chosen(api, a, selector)) {
        auto const [other, is_new] = selected_by.try_emplace(p.name_space + "/" + p.name, selector);
        if (!is_new)
          throw invalid("Pod \"" + p.name + "\" is selected twice: by " + quoted(other->second) +
                        " and by " + quoted(selector));
        auto const index = static_cast<int>(tasks.size());
        if (self(p)) own_task_ = {job, index};
        accelerators_[{job, index}] = p.accelerators;
        tasks.emplace(index, address(p));
      }
    }
    if (tasks.empty())
      throw cluster_error(
          cluster_error::code::not_ready,
          "job " + job + ": no pod in " +
              (a.name_space == "*" ? "any namespace" : "namespace " + a.name_space) +
              " has the labels " + cluster::listed(selectors));
  }
  auto const count = static_cast<int>(selected_by.size());
  if (options_.tasks > 0 && count != options_.tasks)
    throw cluster_error(cluster_error::code::not_ready,
                        std::to_string(count) + " pods are running, " +
                            std::to_string(options_.tasks) + " are expected");
  asked_ = true;
  return muster::cluster_spec(std::move(jobs));
}

}  // namespace muster
