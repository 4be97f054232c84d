// Table of resolvers that use the network.
//
// Link muster::cluster_http.
#pragma once

#include "muster/make_resolver.hpp"
#include "muster/time_source.hpp"

namespace muster {

void add_cloud_resolver_kinds(resolver_kinds& kinds,
                              cluster::time_source const& time = cluster::real_time());

resolver_kinds all_resolver_kinds();

}  // namespace muster
