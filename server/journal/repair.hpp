// Repairs a store that no server can load because a server with outdated data was the leader.
// Single-threaded.
#pragma once

#include "server/journal/copy.hpp"

namespace muster::server::journal {

/// Lines of a report, at most lines_max. `all` also counts the omitted lines.
struct report_lines {
  static constexpr std::size_t lines_max = 1'000;
  std::vector<std::string> lines;
  std::size_t all = 0;

  void add(std::string line) {
    if (++all <= lines_max) lines.push_back(std::move(line));
  }
};

struct repair_plan {
  std::vector<change> changes;  ///< one batch; empty if no repair is needed
  report_lines report;
  /// Entries that cannot be repaired. Without `drop`, any such entry prevents the repair.
  report_lines unusable;
  std::size_t moved = 0;  ///< closures that get a new ID
  std::size_t removed = 0;
};

/// Plans the repair of jobs, sessions and their closures:
///
/// - Of several closures with the same slot, the newest job's closure keeps its ID. All other
///   closures, and closures without a slot, get unused IDs; references are updated.
/// - States of closures that no request contains, and per-worker values without a session, are
///   removed.
/// - Unreadable entries, and requests inconsistent with their job, are `unusable`. With `drop`,
///   they are removed.
///
/// @return INTERNAL, in one line, with the reason why the store could not be loaded after the
///   repair.
muster::result<repair_plan> plan_repair(view const& of, bool drop, watcher const& watch = {});

/// Repairs a directory that no server uses, after copying it to `copy`.
/// @return FAILED_PRECONDITION like copy_store, or if a process uses the directory, or if entries
///   are unusable and `drop` is false
muster::result<repair_plan> repair_store(std::filesystem::path const& directory,
                                         std::filesystem::path const& copy, bool drop,
                                         watcher const& watch = {});

/// Repairs `into`, an open store that has no other writer.
/// @param from a view of `into`
/// @param directory the store's directory with its blobs; may be empty
muster::result<repair_plan> repair_store(view const& from, std::filesystem::path const& directory,
                                         store& into, std::filesystem::path const& copy, bool drop,
                                         watcher const& watch = {});

}  // namespace muster::server::journal
