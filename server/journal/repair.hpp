// What makes a store loadable again that no server can load: `muster data repair`. Such a store is
// left behind when a server has led with data that were older than what another one had written.
// One thread.
#pragma once

#include "server/journal/copy.hpp"

namespace muster::server::journal {

/// Lines for people, 1,000 at most; `all` counts the others as well.
struct report_lines {
  static constexpr std::size_t lines_max = 1'000;
  std::vector<std::string> lines;
  std::size_t all = 0;

  void add(std::string line) {
    if (++all <= lines_max) lines.push_back(std::move(line));
  }
};

struct repair_plan {
  std::vector<change> changes;  ///< in one batch; empty: nothing needs a repair
  report_lines report;          ///< what the changes do
  /// Entries that no repair can make readable. Without `drop` each prevents the repair.
  report_lines unusable;
  std::size_t moved = 0;    ///< closures that get an id of their own
  std::size_t removed = 0;  ///< entries
};

/// Plans the repair of jobs, sessions and their closures:
///
/// - Of closures with the same place those of the newest job keep their ids. The others, and
///   closures without a place, get ids that no server has given; what names them is changed too.
/// - A state of a closure that no request has, and a per-worker value of a session that is gone,
/// are
///   removed: nothing can name them.
/// - Entries that cannot be read, and requests that do not fit their job, are `unusable`; `drop`
///   removes them.
///
/// INTERNAL, in one line: the repair would not make the store loadable, and why. Nothing of the
/// plan is done then.
muster::result<repair_plan> plan_repair(view const& of, bool drop, watcher const& watch = {});

/// Repairs a directory that no server has. Copies it to `copy` before it changes anything, as
/// copy_store does, but without judging whether a server could load it. FAILED_PRECONDITION: as
/// copy_store, a process has the directory, or something is unusable and `drop` is false.
muster::result<repair_plan> repair_store(std::filesystem::path const& directory,
                                         std::filesystem::path const& copy, bool drop,
                                         watcher const& watch = {});

/// Repairs `into`, an opened store that nobody else writes; `from` is a view of it. `directory`:
/// where it is one, for its blobs.
muster::result<repair_plan> repair_store(view const& from, std::filesystem::path const& directory,
                                         store& into, std::filesystem::path const& copy, bool drop,
                                         watcher const& watch = {});

}  // namespace muster::server::journal
