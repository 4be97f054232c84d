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
/// @param what_then advice in the error if a server is the leader
/// @param over see leadership_options
/// @return FAILED_PRECONDITION if a server is the leader, UNAVAILABLE if etcd does not answer. The
///   message is one line and contains the address.
muster::result<exclusive_leadership> acquire_exclusive_leadership(
    access const& a, std::string who, std::string const& what_then,
    std::function<void(std::string const& why)> over);

/// Copies all entries of `from` into an empty prefix, as the prefix's leader. On failure, the
/// written entries are deleted. A killed process leaves a prefix without a format entry, which
/// servers reject.
/// @param over see leadership_options
/// @return FAILED_PRECONDITION, in one line with the address, if the prefix is not empty or a
///   server is the leader
muster::result<copied> restore_into(access const& a, view const& from, watcher const& watch,
                                    std::function<void(std::string const& why)> over);

/// Repairs a prefix like journal::repair_store, as the prefix's leader.
/// @param over see leadership_options
muster::result<repair_plan> repair_prefix(access const& a, std::filesystem::path const& copy,
                                          bool drop, watcher const& watch,
                                          std::function<void(std::string const& why)> over);

struct trimmed {
  std::int64_t revision = 0;
  /// Size of etcd's file, and the size in use. The sizes are 0 if the user has no permission to
  /// read them.
  std::uint64_t bytes = 0, in_use_before = 0, in_use_after = 0;
};
/// Drops the history of the whole etcd cluster until now. Can run while a server is the leader.
muster::result<trimmed> drop_history(access const& a);

}  // namespace muster::server::journal::etcd
