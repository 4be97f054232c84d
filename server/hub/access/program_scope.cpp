#include "server/hub/access/program_scope.hpp"

#include "server/hub/id_parsing.hpp"

namespace muster::server {

bool sees(cluster_scope const& who, pools& all, std::string_view cluster) {
  if (who.sees(cluster)) return true;
  auto const program = parse_program(cluster);
  if (!program) return false;
  auto& h = all.of(*program);
  return h.state().knows(*program) && who.sees(h.cluster());
}

bool sees(cluster_scope const& who, pools& all, log_event const& n) {
  return who.sees(n) || (!n.cluster.empty() && sees(who, all, n.cluster));
}

}  // namespace muster::server
