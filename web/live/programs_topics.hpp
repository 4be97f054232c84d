// What the topics on programs show: `programs`, a row each, and for each program that somebody
// looks at "program:prog_…", with these rows:
//
//   program   as REST tells it; no such row: nobody knows it
//   attempts  {"attempts":[…]}, the newest ones
//   barriers  {"barriers":[…]}, those of its coordination cluster that some wait at
//   0, 1, …   its ranks, each with its last line and, where it is an agent, how it fares
//
// Copied on the engine thread, made into rows on the web thread. Looking at a program is what has
// its workers asked for last lines.
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

/// Nothing when the name is not of a topic on one program.
std::optional<core::program_id> program_named(std::string_view topic);

/// The topics that somebody watches: the list, and names of those on one program.
struct programs_asked {
  bool list = false;
  std::vector<std::string> each;
  bool any() const { return list || !each.empty(); }
};

struct program_rows {
  std::optional<topic_rows> list;
  std::map<std::string, named_rows> each;  // by the topic's name
  core::time_point now{};
};

/// Of each cluster; those that have not ended are shown before others.
inline constexpr std::size_t programs_shown = 200;

coro::task<muster::result<program_rows>> collect_programs(engine_link& engine, programs_asked asked,
                                                          server::shared_scope scope);

}  // namespace muster::web
