#include "muster/cloud_resolver_kinds.hpp"

#include "base/text.hpp"
#include "launch/cluster/http/json_place.hpp"
#include "launch/cluster/json_text.hpp"
#include "launch/cluster/resolver_text.hpp"
#include "muster/gce_resolver.hpp"
#include "muster/kubernetes_resolver.hpp"
#include "muster/tpu_resolver.hpp"

namespace muster {
namespace {

using cluster::time_source;

constexpr auto highest_index = static_cast<int>(cluster_spec::tasks_max) - 1;
constexpr int port_max = 65535;
constexpr std::chrono::seconds shortest_time_limit{1};
constexpr std::chrono::hours longest_time_limit{1};

resolver_key const task_type{"task_type", "job of this process"};
resolver_key const task_id{"task_id", "index of this process in its job"};
resolver_key const rpc_layer{"rpc_layer", "protocol prefix of the master address (grpc)"};
resolver_key const port{"port", "port of every task (8470)"};
resolver_key const tasks{"tasks", "number of tasks in the complete cluster (default: any number)"};
resolver_key const token_file{"token_file",
                              "file with a token (default: the platform's own token)"};
resolver_key const time_limit{
    "time_limit", "time limit of one query, including retries, such as 20s or 2m (60s)"};
resolver_key const api_url{"api_url", "address of the service (default: Google's)"};
resolver_key const project{"project", "Google Cloud project (default: this machine's)"};
resolver_key const zone{"zone", "zone (default: this machine's)"};

cluster::api_limits limits_from(resolver_arguments const& a) {
  cluster::api_limits l;
  auto const given = a.text("time_limit");
  if (!given) return l;
  bool const is_number = given->find_first_not_of("0123456789") == std::string::npos;
  auto const limit = parse_duration(is_number ? *given + "s" : *given);
  if (!limit || *limit < shortest_time_limit || *limit > longest_time_limit)
    throw a.invalid_value_error("time_limit",
                                cluster::quoted(*given) + " is not a time from 1s to 1h");
  l.total = std::chrono::duration_cast<std::chrono::milliseconds>(*limit);
  return l;
}

void set_task(cluster_resolver& r, resolver_arguments const& a) {
  if (auto const type = a.text("task_type")) r.task_type(type);
  if (auto const id = a.number("task_id", 0, highest_index)) r.task_id(id);
}

/// Parses selectors, for example {"worker": ["app=a", "app=b"], "ps": "app=c"}.
std::map<std::string, std::vector<std::string>> selectors_from(std::string const& text) {
  auto const origin = std::string("kubernetes: jobs");
  auto const parsed = cluster::parse_json(text, origin);
  if (!parsed.is_object())
    throw cluster::invalid(origin + R"( is not an object; write {"worker": ["app=a"]})");
  std::map<std::string, std::vector<std::string>> jobs;
  for (auto const& [name, value] : parsed.get_object()) {
    auto& selectors = jobs[std::string(name)];
    cluster::json_place const place(value, origin + "." + std::string(name));
    if (value.is_string())
      selectors.push_back(place.text());
    else
      for (auto const& one : place.items()) selectors.push_back(one.text());
  }
  return jobs;
}

std::shared_ptr<cluster_resolver> make_kubernetes(resolver_arguments const& a,
                                                  time_source const& time) {
  kubernetes_resolver::options o;
  if (auto const jobs = a.text("jobs")) o.jobs = selectors_from(*jobs);
  if (auto const selector = a.text("selector")) {
    if (a.text("jobs"))
      throw a.invalid_value_error("selector", "jobs= already contains selectors; remove selector=");
    o.jobs = {{a.text_or("job", "worker"), {*selector}}};
  } else if (a.text("job")) {
    throw a.invalid_value_error("job", "needs selector=; for several jobs use jobs=");
  }
  o.tasks = a.number("tasks", 1, highest_index + 1).value_or(o.tasks);
  o.port = a.number("port", 1, port_max).value_or(o.port);
  o.name_space = a.text_or("namespace", "");
  o.host_ip = a.flag("host_ip").value_or(false);
  auto const order = a.text_or("order", "natural");
  if (order != "natural" && order != "text")
    throw a.invalid_value_error("order", cluster::quoted(order) + " is neither natural nor text");
  o.natural_order = order == "natural";
  o.skip_finished = a.flag("skip_finished").value_or(false);
  o.rpc_layer = a.text_or("rpc_layer", o.rpc_layer);
  o.where = kubernetes_resolver::parse_location(a.text_or("location", "auto"));
  o.service_account = a.text_or("service_account", o.service_account);
  o.server = a.text_or("server", "");
  o.token_file = a.text_or("token_file", "");
  o.ca_file = a.text_or("ca_file", "");
  o.verify = !a.flag("insecure").value_or(false);
  o.limits = limits_from(a);
  o.time = time;
  auto made = std::make_shared<kubernetes_resolver>(a.environment(), std::move(o));
  set_task(*made, a);
  return made;
}

std::shared_ptr<cluster_resolver> make_gce(resolver_arguments const& a, time_source const& time) {
  gce_resolver::options o;
  o.instance_group = a.text_or("group", "");
  o.project = a.text_or("project", "");
  o.zone = a.text_or("zone", "");
  o.region = a.text_or("region", "");
  o.tasks = a.number("tasks", 1, highest_index + 1).value_or(o.tasks);
  o.port = a.number("port", 1, port_max).value_or(o.port);
  o.task_type = a.text_or("job", o.task_type);
  o.task_id = a.number("task_id", 0, highest_index).value_or(o.task_id);
  o.find_own = a.flag("own").value_or(false);
  if (o.find_own && a.text("task_id"))
    throw a.invalid_value_error("own", "task_id= already sets the index of this task; remove own=");
  o.rpc_layer = a.text_or("rpc_layer", o.rpc_layer);
  o.api_url = a.text_or("api_url", o.api_url);
  o.token_file = a.text_or("token_file", "");
  o.limits = limits_from(a);
  o.time = time;
  return std::make_shared<gce_resolver>(a.environment(), std::move(o));
}

std::shared_ptr<cluster_resolver> make_tpu(resolver_arguments const& a, time_source const& time) {
  tpu_resolver::options o;
  if (auto const name = a.text("name")) o.tpu.tpu = std::vector<std::string>{*name};
  o.tpu.project = a.text_or("project", "");
  o.tpu.zone = a.text_or("zone", "");
  o.tpu.api_url = a.text_or("api_url", o.tpu.api_url);
  o.tpu.api_version = a.text_or("api_version", o.tpu.api_version);
  o.tpu.discovery_url = a.text_or("discovery_url", "");
  o.tpu.token_file = a.text_or("token_file", "");
  o.tpu.limits = limits_from(a);
  o.tpu.time = time;
  o.job_name = a.text_or("job", o.job_name);
  o.coordinator_name = a.text_or("coordinator_name", "");
  o.coordinator_address = a.text_or("coordinator_address", "");
  o.rpc_layer = a.text_or("rpc_layer", o.rpc_layer);
  auto made = std::make_shared<tpu_resolver>(a.environment(), std::move(o));
  set_task(*made, a);
  return made;
}

using maker = std::shared_ptr<cluster_resolver> (*)(resolver_arguments const&, time_source const&);

std::function<std::shared_ptr<cluster_resolver>(resolver_arguments const&)> bound(
    maker make, time_source const& time) {
  return [make, time](resolver_arguments const& a) { return make(a, time); };
}

}  // namespace

void add_cloud_resolver_kinds(resolver_kinds& kinds, time_source const& time) {
  kinds.add(
      {"kubernetes",
       "pods that match label selectors",
       "",
       {{"selector", "label selector of the pods (job-name=tensorflow)"},
        {"job", "job name of these tasks (worker)"},
        {"jobs", R"(selectors of several jobs: {"worker": ["app=a", "app=b"], "ps": "app=c"})"},
        tasks,
        port,
        {"namespace", "namespace of the pods, * for all (default: this pod's)"},
        {"host_ip", "true: use the addresses of nodes, not of pods"},
        {"order", "order of the pods' names: natural (w-2 before w-10) or text"},
        {"skip_finished", "true: ignore pods that have finished"},
        {"location", "where this process runs: auto, within-cluster or off-cluster"},
        {"server",
         "address of the API server if this process is outside the cluster: https://HOST:PORT"},
        token_file,
        {"ca_file",
         "PEM file with the CA certificate of the API server if this process is outside the "
         "cluster"},
        {"insecure", "true: accept any certificate"},
        {"service_account", "directory of the pod's service account"},
        time_limit,
        task_type,
        task_id,
        rpc_layer},
       bound(make_kubernetes, time)});
  kinds.add({"gce",
             "running machines of a Compute Engine instance group",
             "",
             {{"group", "name of the instance group; required"},
              {"job", "job name of these tasks (worker)"},
              tasks,
              port,
              project,
              zone,
              {"region", "region of a regional group, instead of a zone"},
              {"own", "true: determine the index of this machine, which is in the group"},
              task_id,
              token_file,
              api_url,
              time_limit,
              rpc_layer},
             bound(make_gce, time)});
  kinds.add(
      {"tpu",
       "hosts of a Cloud TPU",
       "",
       {{"name",
         "name of the TPU, local, localhost:PORT, or grpc://HOST:PORT,… (default: from the "
         "environment)"},
        {"job", "job name of these tasks (worker)"},
        project,
        zone,
        {"coordinator_name", "job of an additional coordinator"},
        {"coordinator_address", "address of the coordinator (default: this machine, port 8476)"},
        {"api_version", "v1 or v2 (v2)"},
        {"discovery_url", "URL of a document that contains the API address"},
        token_file,
        api_url,
        time_limit,
        task_type,
        task_id,
        rpc_layer},
       bound(make_tpu, time)});
}

resolver_kinds all_resolver_kinds() {
  auto kinds = local_resolver_kinds();
  add_cloud_resolver_kinds(kinds);
  return kinds;
}

}  // namespace muster
