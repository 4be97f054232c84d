#include "muster/cluster_error.hpp"

#include "launch/cluster/resolver_text.hpp"

namespace muster {

cluster_error::cluster_error(code c, std::string const& line)
    : std::runtime_error(cluster::printable(line)), code_(c) {}

}  // namespace muster
