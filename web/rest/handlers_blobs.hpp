// Blobs: large arguments and values by their SHA-256.
#pragma once

#include "web/rest/context.hpp"

namespace muster::core {
struct blob_counts;
}

namespace muster::web {

void add_blob_routes(std::vector<route>& to);
/// Their part of /metrics.
std::string blob_metrics(core::blob_counts const& c);

}  // namespace muster::web
