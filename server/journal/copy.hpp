// Copies a store (`muster data backup`, `muster data restore`) or compacts a store in place
// (`muster data compact`). Single-threaded.
#pragma once

#include "server/journal/inspection.hpp"
#include "server/journal/rocks_view.hpp"
#include "server/journal/stored_blobs.hpp"

namespace muster::server::journal {

struct copied {
  std::uint64_t entries = 0, bytes = 0;  // size of the entries
  std::uint64_t bytes_on_disk = 0;       // size of the copy without blobs
  found_blobs blobs;
};

/// Returns the path next to `to` where a copy is built.
std::filesystem::path unfinished(std::filesystem::path const& to);

/// Copies a consistent snapshot of the directory `from` and its blobs, without disturbing a running
/// server. Validates all entries before and after copying.
///
/// `to` must be empty or absent, and becomes accessible only to its owner. The copy is durable on
/// success. On failure, `to` is unchanged. The copy is built at unfinished(to), where it remains if
/// the process is killed. Servers reject an unfinished copy, because the format entry is written
/// last.
/// @return FAILED_PRECONDITION if `from` or `to` is unsuitable, INTERNAL if the data is damaged or
///   the disk failed
muster::result<copied> copy_store(std::filesystem::path const& from,
                                  std::filesystem::path const& to, watcher const& watch = {});

/// Copies an open view without blobs. Otherwise behaves like `copy_store` for directories.
muster::result<copied> copy_store(view const& from, std::filesystem::path const& to,
                                  watcher const& watch = {});

/// Copies like `copy_store`, but does not require that a server can load the view. Copies the blobs
/// in `directory` unless `directory` is empty.
muster::result<copied> copy_unchecked(view const& from, std::filesystem::path const& directory,
                                      std::filesystem::path const& to, watcher const& watch = {});

/// Copies all entries of `from` into an empty store. The format entry is written after all other
/// entries are durable.
/// @param expected number of entries, for progress messages
/// @return CANCELLED if `watch` returned false
muster::result<copied> copy_entries(view const& from, std::uint64_t expected, store& into,
                                    watcher const& watch = {});

struct compacted {
  std::uint64_t bytes_before = 0, bytes_after = 0;
};
/// Compacts a directory that no server uses. Returns the same errors as `copy_store`.
muster::result<compacted> compact_store(std::filesystem::path const& directory);

}  // namespace muster::server::journal
