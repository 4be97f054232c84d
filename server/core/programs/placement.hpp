// Plans where the ranks of a program run. A plan places all ranks or none of them.
//
// Ranks that need no resources are spread evenly. Other ranks are placed on the workers with the
// most capacity, so that few hosts are used. Ranks of a type are numbered in worker order.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "server/core/api/programs.hpp"

namespace muster::core::programs {

/// Remaining capacity of a worker during planning.
struct room {
  std::uint32_t host = 0;  // worker number, which determines the order
  named_amounts free{};
  named_texts const* labels = nullptr;  // may be null
  std::uint32_t ranks_max = 0;          // number of further ranks allowed
};

struct placed_rank {
  std::uint32_t group = 0;  // index into spec.tasks
  std::uint32_t index = 0;
  std::uint32_t host = 0;

  bool operator==(placed_rank const&) const = default;
};

struct placement {
  std::vector<placed_rank> ranks;  // indexed by rank; empty if the program does not fit
  std::uint32_t would_fit = 0;     // how many of the minimum ranks would fit
};

/// Returns a plan with as many tasks of each type as fit, within the minimum and maximum of the
/// type.
placement place(program_spec const& spec, std::vector<room> const& rooms);

bool has_labels(named_texts const* has, named_texts const& wanted);

/// Returns indices into spec.tasks in rank order: chief, worker, ps, evaluator, then other types by
/// name.
std::vector<std::uint32_t> group_order(program_spec const& spec);

/// Subtracts the amounts. Returns false and changes nothing if an amount is missing.
bool take(named_amounts& from, named_amounts const& amounts);
void give_back(named_amounts& to, named_amounts const& amounts);

}  // namespace muster::core::programs
