// The blobs beside a server's entries, in DIR/blobs, each under the SHA-256 of its bytes: read
// whole, copied. They are made by a rename and never changed, so they may be read beside the server
// that has them; one that it lets go of meanwhile is passed over. One thread.
#pragma once

#include <filesystem>

#include "server/journal/inspection.hpp"

namespace muster::server::journal {

struct found_blobs {
  std::uint64_t blobs = 0, bytes = 0;
  std::uint64_t named = 0;  ///< names in values, each once
  /// What values name and is not there, a line each, 16 at most: the last stands for all others.
  std::vector<std::string> missing;
};

/// Reads each blob of `directory`; `named`: contents::blobs of its entries. `into`, where it is not
/// empty, is another such directory that gets a copy of each, on the disk. An empty `directory` has
/// none. no_room; INTERNAL, in one line with the path: a blob has other bytes than its name says,
/// or cannot be read or written. CANCELLED: `watch` said so.
muster::result<found_blobs> read_blobs(std::filesystem::path const& directory,
                                       std::map<std::string, std::string> const& named,
                                       std::filesystem::path const& into, watcher const& watch);

}  // namespace muster::server::journal
