#include "launch/plan.hpp"

#include <algorithm>
#include <boost/json.hpp>

#include "base/host_port.hpp"
#include "muster/cluster_error.hpp"
#include "muster/cluster_resolver.hpp"

namespace muster::launch {
namespace {

using task = std::pair<std::string, int>;
using variables = std::map<std::string, std::string>;

// Variables that a task must not inherit from the environment of `muster run`.
constexpr char const* told[] = {"MUSTER_TASK_TYPE",
                                "MUSTER_TASK_INDEX",
                                "MUSTER_IS_CHIEF",
                                "MUSTER_NUM_WORKERS",
                                "MUSTER_MASTER",
                                "MUSTER_COORDINATOR",
                                "MUSTER_RESTART_COUNT",
                                "TF_CONFIG",
                                "JAX_COORDINATOR_ADDRESS",
                                "JAX_COORDINATOR_BIND_ADDRESS",
                                "JAX_NUM_PROCESSES",
                                "JAX_PROCESS_ID",
                                "MASTER_ADDR",
                                "MASTER_PORT",
                                "RANK",
                                "WORLD_SIZE",
                                "LOCAL_RANK",
                                "LOCAL_WORLD_SIZE",
                                "GROUP_RANK",
                                "GROUP_WORLD_SIZE",
                                "ROLE_RANK",
                                "ROLE_WORLD_SIZE",
                                "ROLE_NAME",
                                "TORCHELASTIC_RESTART_COUNT",
                                "TORCHELASTIC_MAX_RESTARTS",
                                "TORCHELASTIC_RUN_ID",
                                "TORCHELASTIC_USE_AGENT_STORE",
                                "TORCHELASTIC_ERROR_FILE"};

std::string name_of(task const& t) {
  return t.first + ":" + std::to_string(t.second);
}

std::vector<task> tasks_of(cluster_spec const& cluster) {
  std::vector<std::string> jobs = {"chief", "worker", "ps", "evaluator"};
  for (auto const& job : cluster.jobs())
    if (std::find(jobs.begin(), jobs.end(), job) == jobs.end()) jobs.push_back(job);
  std::vector<task> all;
  for (auto const& job : jobs)
    if (cluster.has_job(job))
      for (int const index : cluster.task_indices(job)) all.emplace_back(job, index);
  return all;
}

bool trains(task const& t) {
  return t.first != "ps" && t.first != "evaluator";
}

class planner {
 public:
  explicit planner(plan_request const& r) : request_(r), tasks_(tasks_of(r.cluster)) {
    std::copy_if(tasks_.begin(), tasks_.end(), std::back_inserter(ranked_), trains);
    // Adds this machine's evaluator, which the spec can omit.
    if (r.own && std::find(tasks_.begin(), tasks_.end(), *r.own) == tasks_.end())
      tasks_.push_back(*r.own);
  }

  std::vector<role> roles() const {
    check_ends();
    std::vector<role> all;
    for (auto const& t : tasks_)
      if (!request_.own || *request_.own == t) all.push_back(make(t));
    return all;
  }

 private:
  // Behaves like is_chief() of cluster_rules.hpp, except that the roles of a program can have any
  // name.
  bool chief(task const& t) const {
    if (t.first == "chief" || t.first == "evaluator") return true;
    if (request_.cluster.has_job("chief")) return false;
    return request_.cluster.has_job("worker") ? t == task("worker", 0)
                                              : !ranked_.empty() && t == ranked_.front();
  }

  bool ends_run(task const& t) const {
    auto const is = [&t](std::string const& named) {
      return named == t.first || named == name_of(t);
    };
    return std::any_of(request_.ends_with.begin(), request_.ends_with.end(), is);
  }

  void check_ends() const {
    for (auto const& named : request_.ends_with) {
      auto const is = [&](task const& t) { return named == t.first || named == name_of(t); };
      if (std::any_of(tasks_.begin(), tasks_.end(), is)) continue;
      std::string all;
      for (auto const& t : tasks_) all += (all.empty() ? "" : ", ") + name_of(t);
      throw cluster_error(
          cluster_error::code::missing,
          "--ends-with " + named + ": the cluster has no such task; its tasks are " + all);
    }
  }

  role make(task const& t) const {
    role r{.name = name_of(t), .argv = request_.command, .environment = request_.inherited};
    for (auto const* name : told) r.environment.erase(name);
    r.serves = request_.ends_with.empty() ? t.first == "ps" : !ends_run(t);
    if (request_.in_graph && !chief(t)) {
      r.argv = worker_program(t);
      r.serves = true;
    }
    set_role_variables(t, r.environment);
    set_coordinator_variables(r.environment);
    if (trains(t)) set_rank_variables(t, r.environment);
    for (auto const& [name, value] : request_.added) r.environment[name] = value;
    if (trains(t) && !request_.python_site.empty()) {
      auto& path = r.environment["PYTHONPATH"];
      path = request_.python_site + (path.empty() ? "" : ":" + path);
    }
    return r;
  }

  std::vector<std::string> worker_program(task const& t) const {
    if (request_.server.empty())
      throw cluster_error(
          cluster_error::code::missing,
          "--in-graph turns " + name_of(t) + " into a worker of a Muster server: pass --server");
    return {
        request_.muster_program, "worker", "--server", request_.server, "--job", t.first, "--index",
        std::to_string(t.second)};
  }

  void set_role_variables(task const& t, variables& v) const {
    auto const& c = request_.cluster;
    v["MUSTER_TASK_TYPE"] = t.first;
    v["MUSTER_TASK_INDEX"] = std::to_string(t.second);
    v["MUSTER_IS_CHIEF"] = chief(t) ? "1" : "0";
    v["MUSTER_NUM_WORKERS"] = std::to_string(ranked_.size());
    v["MUSTER_MASTER"] = t.first == "evaluator" ? std::string()
                                                : format_master(request_.rpc_layer.value_or("grpc"),
                                                                c.task_address(t.first, t.second));
    v["MUSTER_RESTART_COUNT"] = std::to_string(request_.restart);
    v["TF_CONFIG"] = tf_config_of(t);
  }

  // Only an evaluator gets evaluators in its spec. Other tasks would wait for a server that an
  // evaluator does not have.
  std::string tf_config_of(task const& t) const {
    auto cluster = boost::json::parse(request_.cluster.to_json()).as_object();
    if (t.first != "evaluator") cluster.erase("evaluator");
    boost::json::object all{{"cluster", std::move(cluster)},
                            {"task", {{"type", t.first}, {"index", t.second}}}};
    if (request_.rpc_layer) all["rpc_layer"] = *request_.rpc_layer;
    if (request_.environment) all["environment"] = *request_.environment;
    return boost::json::serialize(all);
  }

  host_port first_address(char const* why) const {
    auto const& [type, index] = ranked_.front();
    auto const& text = request_.cluster.task_address(type, index);
    auto const a = host_port::parse(text);
    if (a.port.empty())
      throw cluster_error(
          cluster_error::code::invalid,
          "the address of " + name_of({type, index}) + ", '" + text + "', has no port: " + why);
    return a;
  }

  std::string service() const {
    if (!request_.own_service.empty()) return request_.own_service;
    return first_address("write host:port, or pass a Muster server with --server").text();
  }

  void set_coordinator_variables(variables& v) const {
    if (!request_.server.empty())
      v["MUSTER_COORDINATOR"] = request_.server;
    else if (!ranked_.empty())
      v["MUSTER_COORDINATOR"] = service();
  }

  void set_rank_variables(task const& t, variables& v) const {
    auto const at = std::find(ranked_.begin(), ranked_.end(), t);
    auto const rank = std::to_string(at - ranked_.begin());
    auto const size = std::to_string(ranked_.size());
    v["JAX_COORDINATOR_ADDRESS"] = v["MUSTER_COORDINATOR"];
    v["JAX_NUM_PROCESSES"] = v["WORLD_SIZE"] = size;
    v["JAX_PROCESS_ID"] = v["RANK"] = rank;
    if (at == ranked_.begin()) v["JAX_COORDINATOR_BIND_ADDRESS"] = bind_address();
    auto const meeting = host_port::parse(meeting_point());
    v["MASTER_ADDR"] = meeting.host;
    if (!meeting.port.empty()) v["MASTER_PORT"] = meeting.port;
    set_local_rank_variables(t, v);
    set_torch_variables(v);
  }

  // Returns the address on which process 0 always serves. In a run on one machine, only this
  // machine can connect. A run with a Muster server does not use the service.
  std::string bind_address() const {
    if (!request_.server.empty()) return "127.0.0.1:0";
    if (!request_.own_service.empty()) return request_.own_service;
    auto a = first_address("write host:port");
    a.host = a.host.find(':') == std::string::npos ? "0.0.0.0" : "::";
    return a.text();
  }

  // Returns the host in a task's address, which distinguishes machines if one task is started at a
  // time; otherwise "".
  std::string host_of(task const& t) const {
    return request_.own ? host_port::parse(request_.cluster.task_address(t.first, t.second)).host
                        : std::string();
  }

  void set_local_rank_variables(task const& t, variables& v) const {
    std::vector<std::string> hosts;  // host names, for torchrun's groups
    int rank = 0;
    int size = 0;
    for (auto const& other : ranked_) {
      auto const host = host_of(other);
      if (std::find(hosts.begin(), hosts.end(), host) == hosts.end()) hosts.push_back(host);
      if (host != host_of(t)) continue;
      if (other == t) rank = size;
      ++size;
    }
    v["LOCAL_RANK"] = std::to_string(rank);
    v["LOCAL_WORLD_SIZE"] = std::to_string(size);
    auto const group = std::find(hosts.begin(), hosts.end(), host_of(t)) - hosts.begin();
    v["GROUP_RANK"] = std::to_string(group);
    v["GROUP_WORLD_SIZE"] = std::to_string(hosts.size());
    // Sets torchrun's default, because thread pools of the machine's size in all tasks would create
    // too many threads.
    if (size > 1) v.try_emplace("OMP_NUM_THREADS", "1");
  }

  // Returns whether to announce the store. If the user has set one of these variables, our
  // remaining variables would be misleading.
  bool has_store() const {
    auto const said = [this](char const* name) { return request_.added.contains(name); };
    return !request_.store.empty() && !said("MASTER_ADDR") && !said("MASTER_PORT") &&
           !said("TORCHELASTIC_USE_AGENT_STORE");
  }

  std::string meeting_point() const {
    if (has_store()) return request_.store;
    if (!request_.meeting_point.empty()) return request_.meeting_point;
    return request_.cluster.task_address(ranked_.front().first, ranked_.front().second);
  }

  // Sets torchrun's remaining variables. All tasks have the same role. "Agent store" means a store
  // that outlives process 0; torch expects exactly "True".
  void set_torch_variables(variables& v) const {
    v["ROLE_RANK"] = v["RANK"];
    v["ROLE_WORLD_SIZE"] = v["WORLD_SIZE"];
    v["ROLE_NAME"] = "default";
    v["TORCHELASTIC_RESTART_COUNT"] = std::to_string(request_.restart);
    v["TORCHELASTIC_MAX_RESTARTS"] = std::to_string(request_.max_restarts);
    v["TORCHELASTIC_RUN_ID"] = request_.run_id;
    v["TORCHELASTIC_USE_AGENT_STORE"] = has_store() ? "True" : "False";
  }

  plan_request const& request_;
  std::vector<task> tasks_;
  std::vector<task> ranked_;
};

}  // namespace

std::vector<role> plan(plan_request const& request) {
  return planner(request).roles();
}

bool is_set_per_attempt(std::string_view variable) {
  return variable == "MUSTER_ATTEMPT" || variable == "MUSTER_STEPS" ||
         std::find(std::begin(told), std::end(told), variable) != std::end(told);
}

}  // namespace muster::launch
