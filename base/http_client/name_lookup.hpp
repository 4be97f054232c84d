// A host's addresses, within a time limit: getaddrinfo has none of its own. It runs on a thread of
// its own, which is left behind when the limit passes and ends by itself when the system's resolver
// gives up. May be called from any thread; blocks.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <optional>
#include <string>

namespace muster {

struct lookup_answer {
  boost::system::error_code error;  // timed_out: the limit
  std::vector<boost::asio::ip::tcp::endpoint> endpoints = {};
};

/// Numeric addresses need no thread. Without a limit it waits for the system's.
lookup_answer look_up(std::string const& host, std::string const& port,
                      std::optional<std::chrono::steady_clock::time_point> limit);

}  // namespace muster
