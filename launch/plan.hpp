// Which programs a run starts on this machine, and what each is told by its environment. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/process/child.hpp"
#include "muster/cluster_spec.hpp"

namespace muster::launch {

/// One program that a run starts.
struct role {
  std::string name;  // "worker:3"
  std::vector<std::string> argv;
  std::map<std::string, std::string> environment;  // all of it
  /// Nobody waits for its end: it is stopped once all others have ended well.
  bool serves = false;
  std::string cwd{};                   // empty: the launcher's
  std::optional<process_user> user{};  // unset: the launcher's
};

struct plan_request {
  cluster_spec cluster;
  /// Type and index of the one task to start; unset: all of them are this machine's.
  std::optional<std::pair<std::string, int>> own{};
  /// Only the chief and the evaluator run the command; the others are workers of `server`.
  bool in_graph = false;
  /// Tasks ("chief:0") and jobs ("chief") whose good end ends the run; empty: all but `ps`.
  std::vector<std::string> ends_with{};
  /// As TF_CONFIG said; unset: it did not.
  std::optional<std::string> rpc_layer{}, environment{};
  /// A running Muster server; empty: process 0 serves the others itself.
  std::string server{};
  /// Where process 0 serves JAX, and where PyTorch meets; empty: at its own address of the cluster.
  std::string own_service{}, meeting_point{};
  /// "host:port" of a store of torch that somebody else has; empty: process 0 has it, where PyTorch
  /// meets. Also where `added` says something of that.
  std::string store{};
  std::vector<std::string> command;
  std::string muster_program = "muster";  // runs the workers of in_graph
  int restart = 0;                        // how many came before
  int max_restarts = 0;
  /// A directory that has python_site(): tasks with a rank get it in front of PYTHONPATH. Empty:
  /// none.
  std::string python_site{};
  std::string run_id = "none";  // as torchrun calls a run that has no name
  /// Environment of this process, and what is set on top of everything.
  std::map<std::string, std::string> inherited{}, added{};
};

/// Chiefs first, then workers, ps, evaluators, then jobs of other names, which train as workers do.
/// REQUIRES: the cluster is valid (cluster_rules.hpp)
/// and has the own task. Errors: cluster_error for an address without a port where one is needed,
/// for in_graph without a server, and for
/// what ends the run and is not in the cluster.
std::vector<role> plan(plan_request const& request);

/// Whether this variable is one that a process is told of an attempt.
bool is_told(std::string_view variable);

}  // namespace muster::launch
