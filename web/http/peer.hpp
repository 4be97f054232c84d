// The client of a request. Owned by the connection; used on the web thread.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <string>

namespace muster::web {

class peer_watch {
 public:
  virtual ~peer_watch() = default;

  /// Until disarm() is called, sets `gone` and cancels `timer` if the client closes its side.
  /// REQUIRES: not armed; `timer` and `gone` outlive the watch.
  virtual void arm(boost::asio::steady_timer& timer, bool& gone) = 0;
  virtual void disarm() = 0;

  /// Common name of the verified client certificate; empty if the client sent no certificate.
  std::string certificate_name;
};

}  // namespace muster::web
