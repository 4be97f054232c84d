// Limits for connections whose client has not yet sent data; see waiting_connections.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

#include "server/net/abuse/leaky_counts.hpp"

namespace muster::net {

struct waiting_options {
  // A connection is closed if its client sends no data for this time.
  std::chrono::milliseconds first_data_timeout{10'000};
  // At all_max, the oldest connection is closed; at per_address_max, the oldest connection from the
  // address.
  std::size_t all_max = 4096;
  std::size_t per_address_max = 1024;
  // Limit for connections that clients close without sending enough data. An address that exceeds
  // the limit is reported. Such connections use no resources, so no other action is taken.
  // `silent_flood` is called on the listener's thread.
  leaky_limits silent{5'000, 500};
  std::function<void(std::string const& address)> silent_flood = [](auto const&) {};
};

/// Trust in relays that send PROXY headers; see proxy_header.hpp.
struct proxy_rules {
  /// Returns whether headers of this relay are trusted. Without a function, no relay is trusted.
  std::function<bool(boost::asio::ip::address const& relay)> believed = {};
  /// Logs a line, at most once per ten seconds. Called on the listener's thread.
  std::function<void(std::string const& line)> complain = [](auto const&) {};
};

}  // namespace muster::net
