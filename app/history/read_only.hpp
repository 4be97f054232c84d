// Facts about the data directory of a server that has ended, needed before its history is shown.
// Runs on the main thread. Changes nothing. The code that opens the directory reports what it
// cannot read.
#pragma once

#include <filesystem>
#include <vector>

#include "server/core/api/time.hpp"
#include "server/core/coordination/api/declared_cluster.hpp"

namespace muster::server {

/// Returns the time of the last write, from the history or else from the files; now if neither can
/// be read.
core::time_point last_written(std::filesystem::path const& data_dir);
/// Returns the cluster that had the main port, if the directory names it. Returns nothing for the
/// cluster `default` or an empty directory.
std::vector<core::coordination::cluster_spec> main_cluster_in(
    std::filesystem::path const& data_dir);

}  // namespace muster::server
