#include "muster/worker_context.hpp"

#include "client/distribute/inputs.hpp"
#include "client/log_line.hpp"
#include "muster/cluster_error.hpp"
#include "muster/strategy.hpp"

namespace muster {
namespace {

thread_local worker_context* current = nullptr;

int count(cluster_spec const& c, char const* job) {
  return c.has_job(job) ? static_cast<int>(c.num_tasks(job)) : 0;
}

}  // namespace

worker_context::worker_context(worker_context_options o) : options_(std::move(o)) {
  auto const& cluster = options_.cluster;
  auto const& type = options_.task_type;
  master_target_ = find_master();
  num_workers_ = count(cluster, "worker") + count(cluster, "chief");
  is_chief_ = cluster.empty() || !type || *type == "chief" || *type == "evaluator" ||
              (*type == "worker" && !cluster.has_job("chief") && options_.task_id.value_or(0) == 0);
}

std::string worker_context::find_master() const {
  auto const& cluster = options_.cluster;
  if (cluster.empty() || options_.task_type == "evaluator") return {};
  auto type = options_.task_type.value_or("chief");
  if (!options_.task_type && !cluster.has_job("chief")) {
    type = "worker";
    if (!cluster.has_job("worker"))
      throw cluster_error(cluster_error::code::missing,
                          "a worker function for the whole cluster needs a chief or a worker, but "
                          "the cluster has neither: " +
                              cluster.to_json());
  }
  auto const id = options_.task_type ? options_.task_id.value_or(0) : 0;
  return format_master(options_.rpc_layer, cluster.task_address(type, id));
}

bool worker_context::distributed_mode() const {
  return !options_.cluster.empty() && options_.task_type != "evaluator";
}

void worker_context::wait_for_others() {
  if (options_.barrier)
    return options_.barrier->wait(options_.participant, options_.barrier_timeout);
  if (num_workers_ > 1 && distributed_mode() && !warned_.exchange(true))
    log(log_level::warning,
        "wait_for_others() does not wait: " + describe() +
            " runs in its own process and has no barrier; use the barrier of a coordination_agent");
}

bool worker_context::should_init() const {
  return options_.strategy && options_.strategy->should_init();
}

bool worker_context::should_checkpoint() const {
  return options_.strategy && options_.strategy->should_checkpoint();
}

bool worker_context::should_save_summary() const {
  return options_.strategy && options_.strategy->should_save_summary();
}

session_creator worker_context::make_session_creator(scaffold s,
                                                     std::optional<muster::session_config> config,
                                                     std::chrono::milliseconds max_wait,
                                                     checkpoint from) const {
  session_creator c;
  c.role = !options_.strategy || options_.strategy->should_init() ? session_creator::kind::chief
                                                                  : session_creator::kind::waiting;
  c.master = master_target_;
  if (config) {
    c.config = std::move(*config);
    c.config.merge(options_.config);
  } else {
    c.config = options_.config;
  }
  c.scaffold = std::move(s);
  c.checkpoint = std::move(from);
  if (auto named = distribute::server_of_environment(options_.server); !named.empty())
    c.server.server = std::move(named);
  c.server.name = options_.task_type.value_or("distribute coordinator");
  if (options_.task_type) c.server.name += ":" + std::to_string(options_.task_id.value_or(0));
  if (options_.task_type && distributed_mode()) {
    c.task.task_job = *options_.task_type;
    c.task.task_index = options_.task_id.value_or(0);
  }
  c.max_wait = max_wait;
  return c;
}

std::string worker_context::describe() const {
  if (options_.cluster.empty()) return "[local]";
  return "[cluster_spec: " + options_.cluster.to_json() +
         ", task_type: " + options_.task_type.value_or("none") + ", task_id: " +
         (options_.task_id ? std::to_string(*options_.task_id) : std::string("none")) + "]";
}

worker_context* current_worker_context() {
  return current;
}

worker_context_scope::worker_context_scope(worker_context& c) {
  if (current)
    throw cluster_error(cluster_error::code::invalid,
                        "cannot run distribute coordinator in a worker function " + c.describe());
  current = &c;
}

worker_context_scope::~worker_context_scope() {
  current = nullptr;
}

}  // namespace muster
