// torchrun's flags for `muster run` and `muster launch`, from one table. Flags with the same
// meaning are accepted; other flags cause an error that suggests a replacement. As in torchrun, "_"
// and "-" are equivalent.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/run_cluster.hpp"

namespace muster::cli {

enum class starter { run, launch };

struct torchrun_flags {
  std::string nnodes, node_rank, master_addr, rdzv_backend, rdzv_endpoint, rdzv_id;
  std::optional<int> master_port;
  bool standalone = false, module = false, no_python = false;
};

inline constexpr char nproc_names[] = "-n,--nproc,--nproc-per-node,--nproc_per_node";

void add_torchrun_flags(CLI::App& verb, torchrun_flags& flags, starter by);

/// Parses a number of processes. "auto", "gpu" and "cpu" select the number of devices that this
/// process can use on this machine.
/// @throws CLI::ValidationError
int nproc_of(std::string const& text, int most);

/// Checks that the flags describe a run on this machine only. @throws command_error (usage)
void check_torchrun_flags(torchrun_flags const& flags, run_sources const& sources);

/// Checks the flags of a program that runs on a server's workers. @throws command_error (usage)
void check_launch_flags(torchrun_flags const& flags);

struct node_range {
  std::uint64_t min = 1, max = 1;
};
/// Parses "2", or torchrun's "1:4".
/// @throws command_error (usage)
node_range nnodes_of(std::string const& text);

/// Returns the program and its arguments. Without "--", they begin at the first argument that is
/// not a flag. A Python file is run with python3.
/// @throws command_error (usage) for an unknown flag, and for arguments on both sides of "--" of
/// `muster run`
std::vector<std::string> command_of(CLI::App const& verb, torchrun_flags const& flags,
                                    std::vector<std::string> const& literal, starter by);

}  // namespace muster::cli
