// The flags of `muster worker` about programs. Used on the main thread.
#pragma once

#include <memory>
#include <string>

#include "cli/command.hpp"
#include "cli/durations.hpp"
#include "client/programs/program_options.hpp"
#include "muster/worker_options.hpp"

namespace muster::cli {

struct program_flags {
  bool allow = false;
  std::string ports = "20000-29999", user, address, directory;
  std::string stack_signal = "SIGRTMIN+5";
  duration lease = std::chrono::seconds(60);
  std::uint64_t cache_bytes_max = program_options().cache_bytes_max;
  duration notice = program_options().notice;
  duration cache_age = program_options().cache_age;
};

void add_program_flags(CLI::App& verb, program_flags& flags);

/// Returns null if programs are not allowed.
/// @throws command_error (usage) whose message names the wrong flag
std::unique_ptr<rank_side> rank_side_of(program_flags const& flags, worker_options const& worker);

}  // namespace muster::cli
