// Finds clusters by name; turns faults of their service into statuses.
#include "web/rest/cluster_access.hpp"

#include <algorithm>

namespace muster::web {

muster::result<coordination::cluster_id> find_cluster(engine_services& services,
                                                      std::string_view name) {
  auto const& all = services.coordination.state();
  auto found = all.find(name);
  if (!found && name == "default" && all.exists(services.endpoints.main()))
    return services.endpoints.main();
  return found;
}

core::duration with_margin(core::duration timeout) {
  return timeout + std::clamp<core::duration>(timeout / 19, std::chrono::milliseconds(50),
                                              std::chrono::seconds(1));
}

muster::status to_status(coordination::fault const& f) {
  return {f.code, f.message};
}

}  // namespace muster::web
