// The coordination core's facts as entries of a store, and back; see journal/v1/records.proto.
#pragma once

#include "server/core/coordination/api/facts.hpp"
#include "server/journal/store.hpp"

namespace muster::server::journal {

/// Appends what has to be written for these facts, in their order.
void encode(std::vector<core::coordination::fact> const& facts, std::vector<change>& into);

/// All clusters of a store, in order of names. INTERNAL names an entry that cannot be read.
muster::result<std::vector<core::coordination::restored_cluster>> load_clusters(store const& s);

}  // namespace muster::server::journal
