// The client of a request: its identity, and whether it disconnects while the handler waits. Owned
// by the connection, web thread.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <string>

namespace muster::web {

class peer_watch {
 public:
  virtual ~peer_watch() = default;

  /// Watches the connection until disarm() is called. If the client closes its side, sets `gone`
  /// and cancels `timer`. REQUIRES: not armed; `timer` and `gone` outlive the watch.
  virtual void arm(boost::asio::steady_timer& timer, bool& gone) = 0;
  virtual void disarm() = 0;

  /// Common name of the client certificate, verified against --tls-client-ca. Empty if the client
  /// sent no certificate.
  std::string certificate_name;
};

}  // namespace muster::web
