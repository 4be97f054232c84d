// Plans where the ranks of a program run: all of them or none. Pure functions.
//
// A worker gets as many ranks as its resources permit. Ranks without resources are spread evenly.
// Others go to the workers with the most capacity, to use few hosts. Ranks of a type are numbered
// in the order of the workers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "server/core/api/programs.hpp"

namespace muster::core::programs {

/// Remaining capacity of a worker while a plan is made.
struct room {
  std::uint32_t host = 0;  // number of the worker, which orders workers
  named_amounts free{};
  named_texts const* labels = nullptr;  // null: no labels
  std::uint32_t ranks_max = 0;          // further ranks allowed
};

struct placed_rank {
  std::uint32_t group = 0;  // index in spec.tasks
  std::uint32_t index = 0;  // within its type
  std::uint32_t host = 0;

  bool operator==(placed_rank const&) const = default;
};

struct placement {
  std::vector<placed_rank> ranks;  // by rank; empty: does not fit
  std::uint32_t would_fit = 0;     // if it does not fit: how many of the minimum would
};

/// Returns a plan with as many tasks of each type as fit, between its min and max.
placement place(program_spec const& spec, std::vector<room> const& rooms);

bool has_labels(named_texts const* has, named_texts const& wanted);

/// Returns indexes in spec.tasks in the order of ranks: chief, worker, ps, evaluator, others by
/// name.
std::vector<std::uint32_t> group_order(program_spec const& spec);

/// Returns false, and takes nothing, if an amount is missing.
bool take(named_amounts& from, named_amounts const& amounts);
void give_back(named_amounts& to, named_amounts const& amounts);

}  // namespace muster::core::programs
