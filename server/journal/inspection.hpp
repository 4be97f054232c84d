// Validates the contents of a store for `muster data check`, and before a backup or restore.
// Single-threaded.
#pragma once

#include <map>

#include "server/journal/view.hpp"

namespace muster::server::journal {

struct entry_count {
  std::string kind;  ///< name from entry_kinds(), or prefix of the keys
  std::uint64_t entries = 0, bytes = 0;
};

struct contents {
  std::uint32_t format = 0;
  std::string written_by;
  std::uint64_t epoch = 0;
  std::vector<entry_count> known;  ///< one element per known kind
  /// At most 16 elements; the last element is the sum of all further kinds.
  std::vector<entry_count> unknown;
  std::vector<std::string> notes;  ///< harmless irregularities, one line each
  /// For each blob hash, a description of the value that refers to the blob.
  std::map<std::string, std::string> blobs;

  std::uint64_t entries() const;
};

/// Progress callback. If it returns false, the operation stops with CANCELLED.
using watcher =
    std::function<bool(std::string_view doing, std::uint64_t entries, std::uint64_t bytes)>;

/// Reads only the format entry.
/// @return FAILED_PRECONDITION, in one line with the path, if this is not a server's store or a
///   newer server wrote the store; INTERNAL if the store is damaged
muster::result<contents> format_of(view const& of);

/// Validates checksums, each entry, and the state that a server would load. Returns the same errors
/// as format_of. The message of INTERNAL contains the damage and its position.
muster::result<contents> inspect(view const& of, watcher const& watch = {});

}  // namespace muster::server::journal
