// torchrun's spellings for `muster run` and `muster launch`, from one table: taken where they mean
// the same here, else an error that says what to use. Flags with "_" and with "-" are the same, as
// they are to torchrun.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/run_cluster.hpp"

namespace muster::cli {

/// The verb whose flags are meant.
enum class starter { run, launch };

struct torchrun_flags {
  std::string nnodes, node_rank, master_addr, rdzv_backend, rdzv_endpoint, rdzv_id;
  std::optional<int> master_port;
  bool standalone = false, module = false, no_python = false;
};

/// The names of the flag for the number of processes.
inline constexpr char nproc_names[] = "-n,--nproc,--nproc-per-node,--nproc_per_node";

void add_torchrun_flags(CLI::App& verb, torchrun_flags& flags, starter by);

/// "4", or "auto", "gpu", "cpu": as many as this machine has for this process. Throws
/// CLI::ValidationError.
int nproc_of(std::string const& text, int most);

/// Whether they describe a run on this machine alone, as they must. Errors: command_error (usage).
void check_torchrun_flags(torchrun_flags const& flags, run_sources const& sources);

/// Checks the flags of a program on the workers of a server. Errors: command_error (usage).
void check_launch_flags(torchrun_flags const& flags);

struct node_range {
  std::uint64_t min = 1, max = 1;
};
/// "2", or "1:4" as torchrun has it. Errors: command_error (usage).
node_range nnodes_of(std::string const& text);

/// What to run. The verb's words that are no flags came without "--" in front: the first that is no
/// flag, and all behind it. A Python file among them is run by python3. Errors: command_error
/// (usage), for a flag that is unknown, and for words on both sides of "--" of `muster run`.
std::vector<std::string> command_of(CLI::App const& verb, torchrun_flags const& flags,
                                    std::vector<std::string> const& literal, starter by);

}  // namespace muster::cli
