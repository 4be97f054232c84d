// Limits of connections whose client has not yet spoken; see waiting_connections. Plain data.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

#include "server/net/abuse/leaky_counts.hpp"

namespace muster::net {

struct waiting_options {
  // For the first words. Longer: closed.
  std::chrono::milliseconds speak_timeout{10'000};
  // Full: the oldest of all, or of the address, makes room for the next.
  std::size_t all_max = 4096;
  std::size_t per_address_max = 1024;
  // An address that has opened more than this, and ended them itself without its first words, is
  // told of, on the listener's thread. They hold nothing any more, so nothing else is done.
  leaky_limits silent{5'000, 500};
  std::function<void(std::string const& address)> silent_flood = [](auto const&) {};
};

/// Relays that say on whose behalf they connect: whose headers are believed, and what is said of
/// others. See proxy_header.hpp.
struct proxy_rules {
  /// Empty: nobody's.
  std::function<bool(boost::asio::ip::address const& relay)> believed = {};
  /// A line for the log, at most one in ten seconds; on the listener's thread.
  std::function<void(std::string const& line)> complain = [](auto const&) {};
};

}  // namespace muster::net
