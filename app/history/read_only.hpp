// Information about a stopped server's data directory, needed to show its history. Used only on the
// main thread.
#pragma once

#include <filesystem>
#include <vector>

#include "server/core/api/time.hpp"
#include "server/core/coordination/api/declared_cluster.hpp"

namespace muster::server {

/// Returns the time of the last write, from the history or from the files. Returns the current time
/// if neither is readable.
core::time_point last_written(std::filesystem::path const& data_dir);
/// Returns the cluster that had the main port, if the cluster is stored. Returns nothing for the
/// cluster `default` or an empty directory.
std::vector<core::coordination::cluster_spec> main_cluster_in(
    std::filesystem::path const& data_dir);

}  // namespace muster::server
