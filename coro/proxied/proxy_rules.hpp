// Relays that say on whose behalf they connect: see proxy_header.hpp. Plain data.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <functional>
#include <string>

namespace muster::coro {

/// Of a listener: whose headers are believed, and what is said of others.
struct proxy_rules {
  /// Empty: nobody's.
  std::function<bool(boost::asio::ip::address const& relay)> believed = {};
  /// A line for the log, at most one in ten seconds; on the listener's thread.
  std::function<void(std::string const& line)> complain = [](auto const&) {};
};

}  // namespace muster::coro
