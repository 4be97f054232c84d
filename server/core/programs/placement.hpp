// Where the ranks of a program could run: all of them or none. Pure.
//
// A worker takes as many as it has resources for. Ranks that need no resources are spread evenly;
// others go to the workers with the most room, so that a program has few hosts. Within a type they
// are numbered in the order of the workers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "server/core/api/programs.hpp"

namespace muster::core::programs {

/// What is left of a worker while a plan is made.
struct room {
  std::uint32_t host = 0;  // number of the worker; workers are ordered by it
  named_amounts free{};
  named_texts const* labels = nullptr;  // null: none
  std::uint32_t ranks_max = 0;          // so many more
};

struct placed_rank {
  std::uint32_t group = 0;  // in spec.tasks
  std::uint32_t index = 0;  // of its type
  std::uint32_t host = 0;

  bool operator==(placed_rank const&) const = default;
};

struct placement {
  std::vector<placed_rank> ranks;  // by rank; empty: they do not fit
  std::uint32_t would_fit = 0;     // then: so many of the least there must be
};

/// With as many tasks of each type as fit, between its min and max.
placement place(program_spec const& spec, std::vector<room> const& rooms);

bool has_labels(named_texts const* has, named_texts const& wanted);

/// The order of ranks: chief, worker, ps, evaluator, others by name. Indexes in spec.tasks.
std::vector<std::uint32_t> group_order(program_spec const& spec);

/// False: nothing was taken.
bool take(named_amounts& from, named_amounts const& amounts);
void give_back(named_amounts& to, named_amounts const& amounts);

}  // namespace muster::core::programs
