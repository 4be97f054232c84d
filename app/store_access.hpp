// From the flags of `--store` to what a client of etcd needs. Any thread.
#pragma once

#include "app/configuration.hpp"
#include "server/journal/etcd/client.hpp"

namespace muster::server {

/// REQUIRES: `where`. FAILED_PRECONDITION, in one line: a file cannot be read, and which flag named
/// it.
muster::result<journal::etcd::access> access_to(shared_store const& s);

/// What is wrong with the flags beside --store; empty: nothing. REQUIRES: `where`.
std::string problem_with(shared_store const& s);

}  // namespace muster::server
