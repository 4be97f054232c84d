// The data of the topics about programs. `programs` has a row for each program. Each program with
// subscribers also has a topic "program:prog_…" with these rows:
//
//   program   the program as in REST; missing if the program is unknown
//   attempts  {"attempts":[…]}, the newest attempts
//   barriers  {"barriers":[…]}, the cluster's barriers at which tasks wait
//   0, 1, …   its ranks, each with its last line and, if it is an agent, its state
//
// The data is copied on the engine thread and converted to rows on the web thread. Workers send the
// last lines of a program while it has subscribers.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/core/api/ids.hpp"
#include "server/hub/access/cluster_scope.hpp"
#include "web/live/cluster_topics.hpp"

namespace muster::web {

/// Returns the program of a topic about a single program, or nothing for other topics.
std::optional<core::program_id> program_named(std::string_view topic);

struct programs_asked {
  bool list = false;
  std::vector<std::string> each;
  bool any() const { return list || !each.empty(); }
};

struct program_rows {
  std::optional<topic_rows> list;
  std::map<std::string, named_rows> each;
  core::time_point now{};
};

/// Limit for each cluster. Programs that have not ended are listed first.
inline constexpr std::size_t programs_shown = 200;

coro::task<muster::result<program_rows>> collect_programs(engine_link& engine, programs_asked asked,
                                                          server::shared_scope scope);

}  // namespace muster::web
