// Reads and copies the blobs in DIR/blobs. The name of a blob is its SHA-256. Blobs never change,
// so they can be read while a server runs; deleted blobs are skipped. Single-threaded.
#pragma once

#include <filesystem>

#include "server/journal/inspection.hpp"

namespace muster::server::journal {

struct found_blobs {
  std::uint64_t blobs = 0, bytes = 0;
  std::uint64_t named = 0;  ///< distinct blobs that values refer to
  /// Missing blobs, one line each. At most 16 lines; the last line summarises all further blobs.
  std::vector<std::string> missing;
};

/// Reads and verifies each blob of `directory`. An empty `directory` has no blobs.
/// @param named contents::blobs of the entries
/// @param into directory for a durable copy of all blobs; may be empty
/// @return no_room if the disk is full. INTERNAL, in one line with the path, if a blob does not
///   match its name, or cannot be read or written. CANCELLED if `watch` returned false.
muster::result<found_blobs> read_blobs(std::filesystem::path const& directory,
                                       std::map<std::string, std::string> const& named,
                                       std::filesystem::path const& into, watcher const& watch);

}  // namespace muster::server::journal
