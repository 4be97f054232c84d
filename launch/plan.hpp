// Pure functions that determine a run's programs on this machine, and their environment.
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

struct role {
  std::string name;
  std::vector<std::string> argv;
  std::map<std::string, std::string> environment;
  /// Whether the program runs until all other programs have ended successfully, and is then
  /// stopped.
  bool serves = false;
  std::string cwd{};
  std::optional<process_user> user{};
};

struct plan_request {
  cluster_spec cluster;
  /// The task to start. If not set, all tasks belong to this machine.
  std::optional<std::pair<std::string, int>> own{};
  /// Only the chief and the evaluator run the command; the other tasks are workers of `server`.
  bool in_graph = false;
  /// Tasks ("chief:0") and roles ("chief") whose success ends the run. If empty, all roles except
  /// `ps`.
  std::vector<std::string> ends_with{};
  std::optional<std::string> rpc_layer{}, environment{};
  /// Address of a Muster server. If empty, process 0 serves the other processes.
  std::string server{};
  /// Addresses of process 0's JAX service and of PyTorch's rendezvous. If empty, process 0's
  /// address in the cluster is used.
  std::string own_service{}, meeting_point{};
  /// "host:port" of an external TCPStore. If empty, process 0 hosts the store at the PyTorch
  /// rendezvous. Ignored if `added` sets one of the store's variables.
  std::string store{};
  std::vector<std::string> command;
  std::string muster_program = "muster";  // program that runs the workers if in_graph is set
  int restart = 0;
  int max_restarts = 0;
  /// Directory that contains python_site(). It is put first in the PYTHONPATH of tasks with a rank;
  /// can be empty.
  std::string python_site{};
  std::string run_id = "none";  // torchrun's name for a run without an ID
  std::map<std::string, std::string> inherited{}, added{};
};

/// Returns the programs in the order chiefs, workers, ps, evaluators, and other roles, which train
/// like workers.
/// @pre The cluster is valid (cluster_rules.hpp) and contains `own`.
/// @throws cluster_error if an address lacks a required port, if in_graph is set without a server,
/// or if `ends_with` names an unknown task
std::vector<role> plan(plan_request const& request);

bool is_set_per_attempt(std::string_view variable);

}  // namespace muster::launch
