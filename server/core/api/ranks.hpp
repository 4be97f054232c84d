// Ranks, the processes of programs: worker offers, worker reports and orders.
// proto/muster/v1/programs.proto documents the fields.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/core/api/programs.hpp"

namespace muster::core {

struct rank_name {
  program_id program{};
  std::uint32_t attempt = 0;
  std::uint32_t rank = 0;

  auto operator<=>(rank_name const&) const = default;
};

struct rank_end {
  rank_name name{};
  std::uint32_t exit_status = 0;
  std::uint32_t signal = 0;
  std::string not_started{};
  bool stopped = false;
  bool lease_ran_out = false;
  bool out_of_memory = false;
  std::vector<std::string> stderr_lines{}, stdout_lines{};

  bool well() const { return exit_status == 0 && signal == 0 && not_started.empty(); }
  bool operator==(rank_end const&) const = default;
};

struct held_rank {
  rank_name name{};
  std::uint32_t pid = 0;  // 0 if the rank has not started
  std::optional<rank_end> ended{};
  std::string not_preloaded{};
};

struct programs_offer {
  std::uint32_t first_port = 0, last_port = 0;  // inclusive bounds
  duration lease{};
  std::string address{};
  std::vector<held_rank> held{};
  bool unpacks = false;  // support for program_spec::upload
  std::string tunnel_key{};
  bool preloads = false;  // support for program_spec::preload
  bool torch = false;     // support for tunnels to TCPStores
};

struct rank_reports {
  stream_id stream{};
  struct start {
    rank_name name{};
    std::uint32_t pid = 0;
    std::string not_preloaded{};
  };
  std::vector<start> started{};
  std::vector<rank_end> ended{};
  std::uint64_t lease = 0;
};

/// Data for all ranks of an attempt, shared by its orders.
struct attempt_sheet {
  std::shared_ptr<program_spec const> spec;
  program_id program{};
  std::uint32_t attempt = 0;
  std::uint32_t restart = 0;  // number of earlier attempts
  struct task {
    std::uint32_t group = 0;  // index into spec->tasks
    std::uint32_t index = 0;
    std::string address{};  // host:port
  };
  std::vector<task> tasks{};  // indexed by rank; tasks of the same type are adjacent
  std::string own_service{}, meeting_point{};
  bool tunnels = false;  // whether all workers open tunnels to a coordination cluster
  bool store = false;    // whether all workers also open tunnels to the TCPStore of the cluster
};

/// Effect: orders to a worker, executed in the sequence stops, forgets, starts, prepares.
struct rank_orders {
  stream_id stream{};
  struct stop {
    program_id program{};
    std::uint32_t attempt = 0;
    std::vector<std::uint32_t> ranks{};  // if empty, all ranks of the attempt
    duration grace{};
    bool by_step = false;  // whether the ranks agree on a step after which they end

    bool operator==(stop const&) const = default;
  };
  struct start {
    std::shared_ptr<attempt_sheet const> sheet{};
    std::vector<std::uint32_t> ranks{};

    bool operator==(start const&) const = default;
  };
  /// Prepares the worker for ranks that may be started there later.
  struct prepare {
    program_id program{};
    std::string upload{};

    bool operator==(prepare const&) const = default;
  };
  std::vector<stop> stops{};
  std::vector<rank_name> forget{};
  std::vector<start> starts{};
  std::vector<prepare> prepares{};
  std::uint64_t lease = 0;

  bool operator==(rank_orders const&) const = default;
};

}  // namespace muster::core
