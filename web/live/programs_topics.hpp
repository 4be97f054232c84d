// The data of the topics about programs. `programs` has a row for each program. Each program with
// subscribers also has a topic "program:prog_…" with these rows:
//
//   program   as in REST; missing if the program is unknown
//   attempts  {"attempts":[…]}, the newest attempts
//   barriers  {"barriers":[…]}, the barriers of its coordination cluster with waiting tasks
//   0, 1, …   its ranks, each with its last line and, if it is an agent, its state
//
// Copied on the engine thread, converted to rows on the web thread. A subscription to a program
// makes its workers send last lines.
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

/// Returns nothing if the topic is not about a single program.
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
