// Tells a parked request that its client went away. Owned by the connection, web thread.
#pragma once

#include <boost/asio/steady_timer.hpp>

namespace muster::web {

class peer_watch {
 public:
  virtual ~peer_watch() = default;

  /// From now until `disarm`: when the client closes its side, set `gone` and cancel `timer`.
  /// REQUIRES: not armed; both outlive the watch.
  virtual void arm(boost::asio::steady_timer& timer, bool& gone) = 0;
  virtual void disarm() = 0;
};

}  // namespace muster::web
