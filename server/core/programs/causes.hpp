// Why a rank has ended, for people. Pure.
#pragma once

#include <optional>

#include "server/core/api/program_views.hpp"
#include "server/core/api/ranks.hpp"

namespace muster::core::programs {

program_cause cause_of(rank_view const& r, rank_end const& how);
/// The worker of `gone` is out of sight, and this one ended after that.
program_cause cause_of_loss(rank_view const& gone, rank_view const& r, rank_end const& how);

/// The coordination service had told that `failed` has, and `r` ended after that.
program_cause cause_of_failed_task(rank_view const& failed, coordination_failure const& told,
                                   rank_view const& r, rank_end const& how);
/// Sets how the rank of such a cause has ended, when it has.
void note_end(program_cause& c, rank_end const& how);

program_cause cause_of(hang const& what);

/// The cause with what the coordination service had told before.
program_cause with_trouble(program_cause c, std::optional<coordination_failure> const& told);

}  // namespace muster::core::programs
