// A server's directory, or what another store has, into another directory, for backups and back:
// `muster data backup|restore`; and written anew in its own place: `muster data compact`. One
// thread.
#pragma once

#include "server/journal/inspection.hpp"
#include "server/journal/rocks_view.hpp"
#include "server/journal/stored_blobs.hpp"

namespace muster::server::journal {

struct copied {
  std::uint64_t entries = 0, bytes = 0;  // of the entries
  std::uint64_t bytes_on_disk = 0;       // of the copy, without its blobs
  found_blobs blobs;                     // of the copy
};

/// Where a copy stands until it is finished: beside it.
std::filesystem::path unfinished(std::filesystem::path const& to);

/// Copies what stands in `from` at one moment, of a running server too, which is not disturbed;
/// with its blobs; reads it whole before and the copy after, as `inspect` does. `to` must be empty
/// or not there, and becomes its maker's alone; it has what was copied, on the disk, or is as it
/// was: the copy grows beside it, without the entry of its format until all others are durable, and
/// is renamed last. One that fails is removed; one that is killed leaves unfinished(to), which is
/// refused by everybody. FAILED_PRECONDITION: one of both is not such a directory. INTERNAL:
/// damaged, or the disk failed.
muster::result<copied> copy_store(std::filesystem::path const& from,
                                  std::filesystem::path const& to, watcher const& watch = {});

/// The same of what is open already, from somewhere else than a directory, hence without blobs.
muster::result<copied> copy_store(view const& from, std::filesystem::path const& to,
                                  watcher const& watch = {});

/// Copies a view that a server may be unable to load, with the blobs of `directory` where that is
/// not empty. Otherwise as copy_store.
muster::result<copied> copy_as_it_is(view const& from, std::filesystem::path const& directory,
                                     std::filesystem::path const& to, watcher const& watch = {});

/// Everything that stands in `from` into a store that has nothing, the entry of the format last and
/// after all others are durable. `expected` entries, for people. CANCELLED: `watch` said so.
muster::result<copied> copy_entries(view const& from, std::uint64_t expected, store& into,
                                    watcher const& watch = {});

struct compacted {
  std::uint64_t bytes_before = 0, bytes_after = 0;
};
/// Of a directory that no server has. As copy_store.
muster::result<compacted> compact_store(std::filesystem::path const& directory);

}  // namespace muster::server::journal
