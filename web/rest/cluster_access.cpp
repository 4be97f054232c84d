#include "web/rest/cluster_access.hpp"

namespace muster::web {

muster::result<coordination::cluster_id> find_cluster(engine_room& room, std::string_view name) {
  auto const& all = room.coordination.state();
  auto found = all.find(name);
  if (!found && name == "default" && all.exists(room.doors.main())) return room.doors.main();
  return found;
}

muster::status to_status(coordination::fault const& f) {
  return {f.code, f.message};
}

}  // namespace muster::web
