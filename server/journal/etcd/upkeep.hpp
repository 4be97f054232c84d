// What people do to a store in etcd: put a backup back, repair it, and give space back. One thread.
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
/// Leads until it goes, so that no server serves the store meanwhile.
using sole_lead = std::unique_ptr<leadership, resigns>;
/// FAILED_PRECONDITION, in one line with the address: a server leads, and `what_then` is to be
/// done. UNAVAILABLE: etcd does not answer. `who` is told to servers that wait; `over`: see
/// leadership_options.
muster::result<sole_lead> lead_alone(access const& a, std::string who, std::string const& what_then,
                                     std::function<void(std::string const& why)> over);

/// Everything that stands in `from` into a prefix that has nothing, which it leads meanwhile, so
/// that no server serves it. FAILED_PRECONDITION, in one line with the address: something is there,
/// or a server leads. One that fails takes away what it has written; one that is killed leaves a
/// prefix without the entry of its format, which every server refuses. `over`: see
/// leadership_options.
muster::result<copied> restore_into(access const& a, view const& from, watcher const& watch,
                                    std::function<void(std::string const& why)> over);

/// Repairs a prefix, which it leads meanwhile, so that no server serves it; see
/// journal::repair_store. `over`: see leadership_options.
muster::result<repair_plan> repair_prefix(access const& a, std::filesystem::path const& copy,
                                          bool drop, watcher const& watch,
                                          std::function<void(std::string const& why)> over);

struct trimmed {
  std::int64_t revision = 0;
  /// Of etcd's file, and of that in use; 0: it does not tell this user.
  std::uint64_t bytes = 0, in_use_before = 0, in_use_after = 0;
};
/// Drops the history of the whole etcd up to now. Beside a server, too.
muster::result<trimmed> drop_history(access const& a);

}  // namespace muster::server::journal::etcd
