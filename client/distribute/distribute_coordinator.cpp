#include "muster/distribute_coordinator.hpp"

#include "client/distribute/inputs.hpp"
#include "client/distribute/serving.hpp"
#include "client/log_line.hpp"
#include "muster/cluster_error.hpp"
#include "muster/thread_coordinator.hpp"

namespace muster {
namespace distribute {
namespace {

struct task {
  std::optional<std::string> type;
  std::optional<int> id;
};

struct barrier_place {
  std::shared_ptr<worker_barrier> barrier;
  std::size_t participant = 0;
};

std::string name_of(task const& t) {
  return t.type ? *t.type + ":" + std::to_string(t.id.value_or(0))
                : std::string("the whole cluster");
}

struct part {
  worker_function f;
  strategy const* with;
};

// The inputs of the worker functions, copied to each thread.
struct job {
  inputs in;
  part work, evaluation;
  std::string server;
  std::chrono::milliseconds barrier_timeout;
};

// The strategy can be null only for evaluators.
std::unique_ptr<strategy> configured(strategy const* from, inputs const& in, task const& t,
                                     session_config& config) {
  if (!from) return nullptr;
  auto own = from->copy();
  bool const alone = in.cluster.empty() || t.type == "evaluator";
  own->configure(config, alone ? nullptr : &in.cluster, alone ? std::nullopt : t.type,
                 alone ? std::nullopt : t.id);
  return own;
}

// The call owns all its inputs, because its thread can be detached and outlive the caller's
// strategy.
std::function<std::any()> prepared(part const& p, job const& j, task const& t,
                                   std::stop_token stop = {}, barrier_place place = {}) {
  auto config = j.in.config;
  std::shared_ptr<strategy> own = configured(p.with, j.in, t, config);
  return [=, f = p.f] {
    worker_context context({.strategy = own.get(),
                            .cluster = j.in.cluster,
                            .task_type = t.type,
                            .task_id = t.id,
                            .config = config,
                            .rpc_layer = j.in.rpc_layer,
                            .barrier = place.barrier,
                            .participant = place.participant,
                            .barrier_timeout = j.barrier_timeout,
                            .stop = stop,
                            .server = j.server});
    worker_context_scope const scope(context);
    auto result = f(own.get());
    if (place.barrier) place.barrier->leave(place.participant);
    return result;
  };
}

void start_evaluator(thread_coordinator& threads, job const& j) {
  if (!j.in.cluster.has_job("evaluator")) return;
  task const t{"evaluator", j.in.cluster.task_indices("evaluator").front()};
  threads.start(name_of(t), prepared(j.evaluation, j, t, threads.stop_token()));
}

void run_between_graph(job const& j, thread_coordinator::options o) {
  std::vector<task> tasks;
  std::vector<std::string> names;
  for (auto const* type : {"chief", "worker"})
    if (j.in.cluster.has_job(type))
      for (int const id : j.in.cluster.task_indices(type)) {
        tasks.push_back({type, id});
        names.push_back(name_of(tasks.back()));
      }
  auto const barrier = std::make_shared<worker_barrier>(names);
  thread_coordinator threads(o);
  std::stop_callback const on_stop(threads.stop_token(),
                                   [barrier] { barrier->abort("another task has failed"); });
  std::vector<std::function<void()>> bodies;  // functions that are configured before the first runs
  for (std::size_t i = 0; i < tasks.size(); ++i)
    bodies.push_back(prepared(j.work, j, tasks[i], threads.stop_token(), {barrier, i}));
  start_evaluator(threads, j);
  for (std::size_t i = 0; i < tasks.size(); ++i) threads.start(names[i], std::move(bodies[i]));
  threads.join();
}

std::any run_in_graph(job const& j, thread_coordinator::options o) {
  thread_coordinator threads(o);
  start_evaluator(threads, j);
  std::any result;
  threads.stop_on_exception([&] { result = prepared(j.work, j, {}, threads.stop_token())(); });
  threads.join();
  return result;
}

// Omits device filters, because the server must work for any strategy.
standard_server_config server_config(job const& j) {
  auto config = j.in.config;
  task const t{j.in.task_type, j.in.task_id.value_or(0)};
  configured((t.type == "evaluator" ? j.evaluation : j.work).with, j.in, t, config);
  config.device_filters.clear();
  return {j.in.cluster, *t.type, *t.id, std::move(config), j.in.rpc_layer, j.in.environment};
}

// Does not start a server if the strategy has started one.
std::shared_ptr<standard_server> server_of(job const& j, standard_server_config c,
                                           standard_server_factory const& servers) {
  if (auto running = j.work.with->running_server()) return running;
  return server_of_this_thread(std::move(c), servers);
}

std::any run_standalone(job const& j, distribute_options const& o) {
  thread_coordinator::options const threads{.grace = o.stop_grace};
  if (!j.in.is_client()) {
    serve_until_end(*server_of(j, server_config(j), o.servers));
    return {};
  }
  if (!j.work.with->between_graph()) return run_in_graph(j, threads);
  run_between_graph(j, threads);
  return {};
}

std::any run_independent(job j, distribute_options const& o) {
  task const own{j.in.task_type, j.in.task_id.value_or(0)};
  auto for_server = server_config(j);
  j.in.config = for_server.session;  // the strategy's server settings also apply to sessions
  if (own.type == "evaluator") return prepared(j.evaluation, j, own)();
  auto const server = server_of(j, std::move(for_server), o.servers);
  if (own.type != "ps" && j.work.with->between_graph()) return prepared(j.work, j, own)();
  bool const chief =
      worker_context({.cluster = j.in.cluster, .task_type = own.type, .task_id = own.id})
          .is_chief();
  if (own.type != "ps" && chief) return prepared(j.work, j, {})();
  serve_until_end(*server);
  return {};
}

void run_local(job const& j, bool has_eval_fn) {
  prepared(j.work, j, {})();
  if (!has_eval_fn)
    return log(log_level::warning, "evaluation is skipped, because eval_fn is not set");
  prepared(j.evaluation, j, {})();
}

void announce(job const& j, distribute_options const& o) {
  if (!j.in.cluster.has_job("evaluator") && j.in.task_type != "evaluator") return;
  if (!o.eval_fn) log(log_level::warning, "eval_fn is not set; evaluators run the worker function");
  if (!o.eval_strategy)
    log(log_level::warning, "eval_strategy is not set; evaluation runs without a strategy");
}

std::string opening_line(job const& j, coordinator_mode mode) {
  constexpr std::size_t cluster_bytes_max = 2000;
  if (j.in.cluster.empty())
    return "distribute coordinator: running locally, because no cluster is defined";
  auto cluster = j.in.cluster.to_json();
  if (cluster.size() > cluster_bytes_max)
    cluster = std::to_string(j.in.cluster.size()) + " tasks in " +
              std::to_string(j.in.cluster.jobs().size()) + " jobs";
  return "distribute coordinator: mode " + std::string(to_string(mode)) + ", cluster " + cluster +
         ", task " + name_of({j.in.task_type, j.in.task_id}) + ", rpc layer " +
         (j.in.rpc_layer.empty() ? "none" : j.in.rpc_layer) + ", environment " +
         (j.in.environment.empty() ? "none" : j.in.environment);
}

}  // namespace
}  // namespace distribute

std::any run_distribute_coordinator(worker_function worker_fn, strategy const& s,
                                    distribute_options o) {
  using namespace distribute;
  if (auto const* outer = current_worker_context())
    throw cluster_error(
        cluster_error::code::invalid,
        "cannot run distribute coordinator in a worker function " + outer->describe());
  auto const eval_fn = o.eval_fn ? o.eval_fn : worker_fn;
  job const j{resolve_inputs(s, o),
              {std::move(worker_fn), &s},
              {eval_fn, o.eval_strategy},
              o.server,
              o.barrier_timeout};
  log(log_level::info, opening_line(j, o.mode));
  if (j.in.cluster.empty()) {  // the mode does not matter
    run_local(j, static_cast<bool>(o.eval_fn));
    return {};
  }
  announce(j, o);
  return o.mode == coordinator_mode::standalone_client ? run_standalone(j, o)
                                                       : run_independent(j, o);
}

}  // namespace muster
