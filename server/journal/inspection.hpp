// What stands in a server's directory, or in etcd, and whether all of it can be read: `muster data
// check`, and what comes before a backup or a restore. One thread.
#pragma once

#include <map>

#include "server/journal/view.hpp"

namespace muster::server::journal {

struct entry_count {
  std::string kind;  ///< a name of entry_kinds(); of others what their keys begin with
  std::uint64_t entries = 0, bytes = 0;
};

struct contents {
  std::uint32_t format = 0;
  std::string written_by;
  std::uint64_t epoch = 0;
  std::vector<entry_count> known;  ///< one a kind of the table
  /// A newer server may have written them. 16 at most: the last stands for all others.
  std::vector<entry_count> unknown;
  std::vector<std::string> notes;  ///< what is unusual and no damage, a line each
  /// Blobs that values name, in hexadecimal digits, and for people which value does.
  std::map<std::string, std::string> blobs;

  std::uint64_t entries() const;
};

/// How far it is, every few thousand entries. False breaks it off: CANCELLED.
using watcher =
    std::function<bool(std::string_view doing, std::uint64_t entries, std::uint64_t bytes)>;

/// Looks only at its format. FAILED_PRECONDITION, in one line with the path: it is not a server's,
/// or a newer server's. INTERNAL: damaged.
muster::result<contents> format_of(view const& of);

/// Reads everything: checksums, each entry, and the clusters as a server would. As format_of;
/// INTERNAL says what is damaged and where.
muster::result<contents> inspect(view const& of, watcher const& watch = {});

}  // namespace muster::server::journal
