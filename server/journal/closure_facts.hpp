// The closures' core's facts as entries of a store, and back; see journal/v1/records.proto.
#pragma once

#include "server/core/api/facts.hpp"
#include "server/journal/store.hpp"

namespace muster::server::journal {

/// Appends what has to be written for these facts, in their order. `cluster`: whose jobs they are.
void encode(std::string const& cluster, std::vector<core::fact> const& facts,
            std::vector<change>& into);

struct stored_job {
  std::string cluster;
  core::restored_job job;
};

/// All jobs of a store, in order of their numbers, before them the values of nobody by cluster.
/// INTERNAL names an entry that cannot be read, or
/// says what others it does not fit.
muster::result<std::vector<stored_job>> load_jobs(store const& s);

}  // namespace muster::server::journal
