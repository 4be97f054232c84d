// Programs as readers see them. Everything is copied; values of `env` are in none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/core/api/programs.hpp"

namespace muster::core {

enum class rank_state : std::uint8_t {
  ordered,  ///< its worker is to start it
  running,
  succeeded,
  failed,
  stopped,  ///< it was ended, by an order or with its worker
};
std::string_view name(rank_state s);

struct rank_view {
  std::uint32_t rank = 0;
  std::string task;  // "worker:3"
  rank_state state{};
  std::string worker, host, address;
  std::uint32_t pid = 0;
  time_point started = never, ended = never;
  std::uint32_t exit_status = 0, signal = 0;
  std::string not_started;
  std::string not_preloaded;  // why it began without, though its program has `preload`
  bool out_of_memory = false;
  named_amounts resources;
  std::string last_line{};  // set by who asks: the core does not know it
};

struct program_attempt_view {
  std::uint32_t attempt = 0;
  program_end end{};
  std::uint32_t ranks = 0;
  std::uint32_t hosts = 0;
  time_point begun{}, running_since = never, ended = never;
  std::optional<program_cause> cause;

  bool operator==(program_attempt_view const&) const = default;
};

/// What a list that is looked at all the time shows of one: commands may have megabytes.
struct program_row {
  program_id id{};
  std::string name;
  program_state state{};
  std::uint32_t attempt = 0, restarts = 0, max_restarts = 0;
  std::uint32_t ranks = 0, started = 0, alive = 0;
  time_point created{}, finished = never;
  std::string cause, waits_for;  // empty: none
  struct group {
    std::string type;
    std::uint32_t min = 0, max = 0;
  };
  std::vector<group> tasks;
};

struct program_view {
  program_id id{};
  std::string cluster;
  std::string coordination_cluster;  // its own, of the last attempt; empty: none
  program_spec spec;                 // env: names alone
  program_state state{};
  std::uint32_t attempt = 0;                        // 0: none yet
  std::uint32_t restarts = 0;                       // those that count
  std::uint32_t ranks = 0, started = 0, alive = 0;  // of the attempt
  std::uint32_t spares = 0;                         // places that are put by now
  time_point created{}, finished = never;
  std::optional<program_cause> cause;
  std::string waits_for;  // why nothing runs yet; empty: something does, or it has ended
};

struct program_counts {
  std::uint32_t by_state[program_states] = {};
  std::uint32_t ranks_alive = 0;
};

}  // namespace muster::core
