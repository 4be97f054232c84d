// The client of a request: who it is, and whether it has gone away while the request is parked.
// Owned by the connection, web thread.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <string>

namespace muster::web {

class peer_watch {
 public:
  virtual ~peer_watch() = default;

  /// From now until `disarm`: when the client closes its side, set `gone` and cancel `timer`.
  /// REQUIRES: not armed; both outlive the watch.
  virtual void arm(boost::asio::steady_timer& timer, bool& gone) = 0;
  virtual void disarm() = 0;

  /// Common name of the client's certificate, which a CA certificate of --tls-client-ca verified.
  /// Empty: the client sent no certificate.
  std::string certificate_name;
};

}  // namespace muster::web
