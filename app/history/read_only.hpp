// What has to be known of the directory of a server that is gone before it can be shown. Main
// thread; nothing is changed, and what cannot be read is told by who opens it.
#pragma once

#include <filesystem>
#include <vector>

#include "server/core/api/time.hpp"
#include "server/core/coordination/api/declared_cluster.hpp"

namespace muster::server {

/// By its history, else by its files; now when it cannot be read.
core::time_point last_written(std::filesystem::path const& data_dir);
/// The cluster that had the main port, as far as the directory tells; none: `default`, or nothing
/// is there.
std::vector<core::coordination::cluster_spec> main_cluster_in(
    std::filesystem::path const& data_dir);

}  // namespace muster::server
