// The leader is the one that serves and was the leader already, else the first that serves.
#include "relay/leadership.hpp"

namespace muster::relay {

void leadership::answered(std::size_t server, bool serves, time_point now) {
  servers_.at(server) = {serves, {}};
  if (leader_ && servers_[*leader_].serves && !silent(servers_[*leader_], now)) return;
  for (std::size_t i = 0; i < servers_.size(); ++i)
    if (servers_[i].serves && !silent(servers_[i], now)) {
      leader_ = i;
      return;
    }
  if (leader_ && !servers_[*leader_].serves) leader_.reset();
}

}  // namespace muster::relay
