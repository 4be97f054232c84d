// The counters for GET /api/v1/overview and the `counters` topic, and their JSON. Copied on the
// engine thread.
#pragma once

#include <optional>
#include <vector>

#include "server/hub/access/cluster_scope.hpp"
#include "server/hub/blob_store.hpp"
#include "server/hub/coordination_hub.hpp"
#include "server/hub/pools.hpp"
#include "web/json/views_json.hpp"

namespace muster::web {

struct counters {
  core::overview_view overview;
  std::vector<core::function_view> functions;
  // Functions by displayed name, including Python callables. The response contains the busiest
  // functions, in order of first occurrence.
  std::vector<core::shown_function_view> shown;
  core::time_point now{};
  std::chrono::milliseconds uptime{};
  double finished_per_s = 0, failed_per_s = 0;
  std::optional<server::coordination_hub::durability> durable{};  // not set if nothing is durable
  std::uint64_t blob_bytes = 0;
};

inline constexpr std::size_t functions_shown = 8;

/// Adds functions. After `most` names, new names are counted in the last entry, `other_functions`.
void add_shown(std::vector<core::shown_function_view> of_one, std::size_t most,
               std::vector<core::shown_function_view>& into);
inline constexpr std::string_view other_functions = "other";

/// The caller sets uptime and rates.
counters collect_counters(server::hub& h);
counters collect_all_counters(server::pools& all, server::coordination_hub const& clusters,
                              server::blob_store const& blobs, server::cluster_scope const& scope);
void members(member_list const& m, counters const& c);

}  // namespace muster::web
