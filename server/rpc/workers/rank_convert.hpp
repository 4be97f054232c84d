// Converts the rank messages of the worker stream: offers and reports from workers, orders to
// workers. Functions that return a string return the field and the problem, or an empty string on
// success.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "muster/v1/worker.pb.h"
#include "server/core/api/ranks.hpp"
#include "server/doctor/step_stops.hpp"
#include "server/doctor/steps.hpp"
#include "server/hub/programs/last_lines.hpp"
#include "server/hub/programs/program_doctor.hpp"
#include "server/hub/programs/rank_logs.hpp"
#include "server/hub/programs/rank_stacks.hpp"
#include "server/hub/task_stack.hpp"

namespace muster::server {

/// Returns nothing if the worker does not run ranks. Returns INVALID_ARGUMENT for invalid ports,
/// lease or address, too many ranks, or duplicates.
muster::result<std::optional<core::programs_offer>> offer_from_wire(v1::Hello const& hello);

std::string from_wire(v1::RankReports const& reports, core::rank_reports& to);

void to_wire(core::rank_orders const& orders, v1::RankOrders& to);
void to_wire(rank_log_query const& query, v1::ReadLog& to);
void to_wire(last_lines_query const& query, v1::ReadLastLines& to);
last_lines_answer from_wire(v1::LastLines const& lines);
void to_wire(vitals_query const& query, v1::ReadVitals& to);
vitals_answer from_wire(v1::RankVitals const& vitals);
void to_wire(stacks_query const& query, v1::ReadStacks& to);
stacks_answer from_wire(v1::RankStacks const& stacks);
void to_wire(doctor::hold_steps const& order, v1::HoldSteps& to);
void to_wire(doctor::stop_after const& order, v1::StopAfterStep& to);
doctor::steps_held from_wire(v1::StepsHeld const& held);
/// Adds one report per attempt.
std::string from_wire(v1::StepsReport const& steps, std::vector<doctor::step_table::report>& to);
struct ranks_killed {
  core::program_id program{};
  std::uint32_t attempt = 0;
  std::vector<core::attempt_record::stack> where;
};
ranks_killed from_wire(v1::LastStacks const& stacks);
/// Returns RESOURCE_EXHAUSTED if the worker is too busy.
muster::result<task_stack> from_wire(v1::TaskStack const& stack);
muster::result<rank_log> from_wire(v1::RankLog&& log);

}  // namespace muster::server
