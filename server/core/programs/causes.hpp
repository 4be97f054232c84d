// Derives the cause of a failed attempt from the ends of its ranks.
#pragma once

#include <optional>

#include "server/core/api/program_views.hpp"
#include "server/core/api/ranks.hpp"

namespace muster::core::programs {

program_cause cause_of(rank_view const& r, rank_end const& how);
/// Returns the cause for a rank `r` that ended after the worker of `gone` had disconnected.
program_cause cause_of_loss(rank_view const& gone, rank_view const& r, rank_end const& how);

/// Returns the cause for a rank `r` that ended after a reported failure of `failed`.
program_cause cause_of_failed_task(rank_view const& failed, coordination_failure const& told,
                                   rank_view const& r, rank_end const& how);
/// Adds the rank's exit status and output to the cause, unless a signal ended the rank.
void note_end(program_cause& c, rank_end const& how);

program_cause cause_of(hang const& what);

program_cause with_coordination_failure(program_cause c,
                                        std::optional<coordination_failure> const& told);

}  // namespace muster::core::programs
