// Maintenance of a store in etcd: restore, repair and compaction. Single-threaded.
#pragma once

#include "server/journal/copy.hpp"
#include "server/journal/etcd/client.hpp"
#include "server/journal/etcd/leadership.hpp"
#include "server/journal/repair.hpp"

namespace muster::server::journal::etcd {

struct resigns {
  void operator()(leadership* l) const {
    l->resign();
    delete l;
  }
};
/// Leadership for the object's lifetime, so that no server can use the store.
using exclusive_leadership = std::unique_ptr<leadership, resigns>;
/// Becomes the leader.
/// @param who name shown to waiting servers
/// @param what_then advice in the error if a server leads
/// @param over see leadership_options
/// @return An error in one line with the address: FAILED_PRECONDITION (a server leads), UNAVAILABLE
///   (etcd does not answer).
muster::result<exclusive_leadership> acquire_exclusive_leadership(
    access const& a, std::string who, std::string const& what_then,
    std::function<void(std::string const& why)> over);

/// Copies all entries of `from` into an empty prefix, as its leader. On failure, the written
/// entries are deleted. A killed process leaves a prefix without a format entry, which servers
/// reject.
/// @param over see leadership_options
/// @return FAILED_PRECONDITION, in one line with the address: the prefix is not empty, or a server
///   leads.
muster::result<copied> restore_into(access const& a, view const& from, watcher const& watch,
                                    std::function<void(std::string const& why)> over);

/// Repairs a prefix like journal::repair_store, as its leader.
/// @param over see leadership_options
muster::result<repair_plan> repair_prefix(access const& a, std::filesystem::path const& copy,
                                          bool drop, watcher const& watch,
                                          std::function<void(std::string const& why)> over);

struct trimmed {
  std::int64_t revision = 0;
  /// Size of etcd's file, and the size in use. 0 if the user has no permission to read it.
  std::uint64_t bytes = 0, in_use_before = 0, in_use_after = 0;
};
/// Drops the history of the whole etcd cluster up to now. This operation can run while a server is
/// the leader.
muster::result<trimmed> drop_history(access const& a);

}  // namespace muster::server::journal::etcd
