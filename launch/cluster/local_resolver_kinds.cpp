#include "launch/cluster/resolver_text.hpp"
#include "launch/cluster/text_file.hpp"
#include "muster/file_resolver.hpp"
#include "muster/make_resolver.hpp"
#include "muster/sagemaker_resolver.hpp"
#include "muster/simple_resolver.hpp"
#include "muster/slurm_resolver.hpp"
#include "muster/tf_config_resolver.hpp"

namespace muster {
namespace {

constexpr auto highest_index = static_cast<int>(cluster_spec::tasks_max) - 1;

resolver_key const task_type{"task_type", "job of this process"};
resolver_key const task_id{"task_id", "index of this process in its job"};
resolver_key const rpc_layer{"rpc_layer", "protocol prefix of the master address, such as grpc"};
resolver_key const environment{"environment", "kind of environment: empty or google"};

template <class Options>
Options options_from(resolver_arguments const& a) {
  Options o;
  o.task_type = a.text("task_type");
  o.task_id = a.number("task_id", 0, highest_index);
  if (auto layer = a.text("rpc_layer")) o.rpc_layer = std::move(*layer);
  o.environment = a.text_or("environment", "");
  return o;
}

std::shared_ptr<cluster_resolver> make_simple(resolver_arguments const& a) {
  auto o = options_from<simple_resolver::options>(a);
  o.master = a.text_or("master", "");
  auto const& value = a.value();
  auto spec =
      value.starts_with('@')
          ? cluster_spec::from_json(cluster::read_text_file(value.substr(1)), value.substr(1))
          : cluster_spec::from_json(value, "simple");
  return std::make_shared<simple_resolver>(std::move(spec), std::move(o));
}

std::shared_ptr<cluster_resolver> make_file(resolver_arguments const& a) {
  return std::make_shared<file_resolver>(a.value(), options_from<file_resolver::options>(a));
}

std::shared_ptr<cluster_resolver> make_tf_config(resolver_arguments const& a) {
  return std::make_shared<tf_config_resolver>(a.environment(),
                                              options_from<tf_config_resolver::overrides>(a));
}

std::shared_ptr<cluster_resolver> make_sagemaker(resolver_arguments const& a) {
  auto const port = a.number("port", 1, 65535).value_or(sagemaker_resolver::default_port);
  return std::make_shared<sagemaker_resolver>(a.environment(), port,
                                              options_from<tf_config_resolver::overrides>(a));
}

std::map<std::string, int> jobs_from(resolver_arguments const& a, std::string const& text) {
  std::map<std::string, int> jobs;
  for (auto const part : cluster::split(text, ',')) {
    auto const equals = part.find('=');
    auto const name = std::string(cluster::trimmed(part.substr(0, equals)));
    auto const tasks = equals == std::string_view::npos
                           ? std::nullopt
                           : cluster::parse_count(part.substr(equals + 1), highest_index + 1);
    if (name.empty() || !tasks)
      throw a.invalid_value_error("jobs",
                                  cluster::quoted(part) + " is not JOB=N; write ps=1,worker=3");
    if (!jobs.emplace(name, *tasks).second)
      throw a.invalid_value_error("jobs", cluster::quoted(name) + " is listed twice");
  }
  return jobs;
}

std::shared_ptr<cluster_resolver> make_slurm(resolver_arguments const& a) {
  constexpr int gpus_max = 1024;
  slurm_resolver::options o;
  if (auto const jobs = a.text("jobs")) o.jobs = jobs_from(a, *jobs);
  o.port_base = a.number("port_base", 1, 65535).value_or(o.port_base);
  o.gpus_per_node = a.number("gpus_per_node", 0, gpus_max);
  o.gpus_per_task = a.number("gpus_per_task", 0, gpus_max);
  o.tasks_per_node = a.text("tasks_per_node");
  o.rpc_layer = a.text("rpc_layer");
  auto made = std::make_shared<slurm_resolver>(a.environment(), std::move(o));
  if (auto const type = a.text("task_type")) made->task_type(type);
  if (auto const id = a.number("task_id", 0, highest_index)) made->task_id(id);
  return made;
}

}  // namespace

resolver_kinds local_resolver_kinds() {
  resolver_kinds kinds;
  kinds.add({"simple",
             "a cluster given as text",
             "JSON or @FILE",
             {task_type,
              task_id,
              rpc_layer,
              environment,
              {"master", "master address to use when no task is given"}},
             make_simple});
  kinds.add({"file",
             "a JSON file, read again each time",
             "FILE",
             {task_type, task_id, rpc_layer, environment},
             make_file});
  kinds.add({"tf-config",
             "the environment variable TF_CONFIG",
             "",
             {task_type, task_id, rpc_layer, environment},
             make_tf_config});
  kinds.add({"slurm",
             "the Slurm step of this process",
             "",
             {{"jobs", "tasks of each job, such as ps=1,worker=3 (default: all are workers)"},
              {"port_base", "port of the first task on each host (8888)"},
              {"tasks_per_node",
               "tasks per node, such as 3(x2),2,1 (default: SLURM_STEP_TASKS_PER_NODE)"},
              {"gpus_per_node", "GPUs per node (default: those that the node reports)"},
              {"gpus_per_task", "GPUs per task (default: an equal share)"},
              task_type,
              task_id,
              rpc_layer},
             make_slurm});
  kinds.add({"sagemaker",
             "a SageMaker training job: SM_HOSTS and SM_CURRENT_HOST",
             "",
             {{"port", "port of every host (2223)"}, task_type, task_id, rpc_layer, environment},
             make_sagemaker});
  return kinds;
}

}  // namespace muster
