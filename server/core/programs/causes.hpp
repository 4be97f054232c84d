// Derives the cause of a failed attempt from the ends of its ranks.
#pragma once

#include <optional>

#include "server/core/api/program_views.hpp"
#include "server/core/api/ranks.hpp"

namespace muster::core::programs {

program_cause cause_of(rank_view const& r, rank_end const& how);
/// Returns the cause for a rank that failed, with the cause `then`, after the worker of `gone` had
/// disconnected.
program_cause cause_of_loss(rank_view const& gone, program_cause then);
/// Adds to the cause that the rank `left` had exited with status 0 before.
void note_earlier_exit(program_cause& c, rank_view const& left, time_point now);

/// Returns the cause for a rank `r` that ended after a reported failure of `failed`.
program_cause cause_of_failed_task(rank_view const& failed, coordination_failure const& told,
                                   rank_view const& r, rank_end const& how);
/// Sets the lines on stderr and the exit status of a cause whose rank has ended since. Changes
/// nothing if the rank exited with 0 or was ended by a signal. If the cause is a hang, always sets
/// the lines, and never the exit status.
void note_end(program_cause& c, rank_end const& how);

program_cause cause_of(hang const& what);

program_cause with_coordination_failure(program_cause c,
                                        std::optional<coordination_failure> const& told);

}  // namespace muster::core::programs
