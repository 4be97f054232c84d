// Converts flags of `--store` to settings of an etcd client. Thread-safe.
#pragma once

#include "app/configuration.hpp"
#include "server/journal/etcd/client.hpp"

namespace muster::server {

/// Reads the files. Returns FAILED_PRECONDITION with the flag if a file is unreadable.
/// @pre `s.where` is set.
muster::result<journal::etcd::access> access_to(shared_store const& s);

/// @pre `s.where` is set.
std::string problem_with(shared_store const& s);

}  // namespace muster::server
