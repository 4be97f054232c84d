#include "cli/run_cluster.hpp"

#include <climits>

#include "base/bounded_file.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/resolver_kinds.hpp"
#include "muster/cluster_error.hpp"
#include "muster/cluster_rules.hpp"
#include "muster/tf_config.hpp"

namespace muster::cli {
namespace {

command_error wrong(std::string const& line) {
  return {exit_usage, line};
}

run_cluster of_config(tf_config const& c, std::string origin) {
  run_cluster r;
  r.spec = c.cluster;
  r.task_type = c.task_type;
  r.task_index = c.task_index;
  r.rpc_layer = c.rpc_layer;
  r.environment = c.environment;
  r.origin = std::move(origin);
  return r;
}

run_cluster from_file(std::string const& path) {
  constexpr std::size_t bytes_max = std::size_t{64} << 20;
  auto const origin = "--cluster-file " + path;
  auto const read = read_bounded_file(path, bytes_max);
  if (!read) throw wrong(origin + ": " + read.error().message);
  auto const& text = *read;
  if (text.find("\"cluster\"") != std::string::npos) {
    try {
      return of_config(tf_config::parse(text), origin);
    } catch (cluster_error const& e) {  // the file has the format of TF_CONFIG
      throw wrong(origin + ": " + e.what());
    }
  }
  run_cluster r;
  r.spec = cluster_spec::from_json(text, origin);
  r.origin = origin;
  return r;
}

run_cluster from_resolver(std::string const& text) {
  auto const resolver = make_known_resolver("--cluster-from", text);
  run_cluster r;
  r.origin = "--cluster-from " + text;
  r.spec = resolver->cluster_spec();
  r.task_type = resolver->task_type();
  r.task_index = resolver->task_id();
  r.rpc_layer = resolver->rpc_layer();
  if (auto const e = resolver->environment(); !e.empty()) r.environment = e;
  return r;
}

void take_task(std::string const& text, run_cluster& r) {
  auto const colon = text.rfind(':');
  auto const index = parse_number(colon == text.npos ? std::string() : text.substr(colon + 1));
  if (colon == 0 || !index || *index > INT_MAX)
    throw wrong("--task " + text + ": write TYPE:INDEX, such as worker:3");
  r.task_type = text.substr(0, colon);
  r.task_index = static_cast<int>(*index);
}

run_cluster read(run_sources const& s) {
  if (!s.cluster_from.empty()) return from_resolver(s.cluster_from);
  if (!s.cluster_file.empty()) return from_file(s.cluster_file);
  auto const config = tf_config::from(process_environment());
  if (s.nproc && !config.cluster.empty())
    throw wrong(
        "--nproc creates its own cluster, but TF_CONFIG already describes one: omit --nproc, or "
        "unset TF_CONFIG");
  if (!config.cluster.empty()) return of_config(config, "TF_CONFIG");
  run_cluster r;
  r.nproc = s.nproc.value_or(1);
  r.origin = "--nproc";
  return r;
}

void check(run_cluster const& r) {
  if (r.spec.empty()) {
    if (r.origin != "--nproc") throw wrong(r.origin + ": the configuration contains no cluster");
    if (r.task_type) throw wrong("--task needs a cluster; pass one with --cluster-file");
    return;
  }
  try {
    validate_cluster(r.spec, r.task_type, r.task_index);
  } catch (cluster_error const& e) {
    throw wrong(r.origin + ": " + e.what());
  }
}

}  // namespace

run_cluster find_cluster(run_sources const& sources) {
  try {
    auto r = read(sources);
    if (!sources.task.empty()) take_task(sources.task, r);
    if (r.task_type == "client") r.task_type.reset();  // a driver is not a task of the cluster
    if (r.task_type && !r.task_index) r.task_index = 0;
    check(r);
    return r;
  } catch (cluster_error const& e) {
    bool const missing = e.kind() == cluster_error::code::missing;
    throw command_error(missing ? exit_usage : status_of(e), e.what());
  }
}

cluster_spec local_workers(std::vector<int> const& ports) {
  cluster_spec::tasks tasks;
  for (auto const port : ports)
    tasks.emplace(static_cast<int>(tasks.size()), "127.0.0.1:" + std::to_string(port));
  return cluster_spec({{"worker", tasks}});
}

}  // namespace muster::cli
