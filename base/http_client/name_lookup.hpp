// Resolves host names with a time limit, which getaddrinfo lacks. getaddrinfo runs on its own
// thread, which is abandoned at the limit and ends when the system's resolver returns. Thread-safe;
// blocks.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <optional>
#include <string>

namespace muster {

struct lookup_answer {
  boost::system::error_code error;
  std::vector<boost::asio::ip::tcp::endpoint> endpoints = {};
};

/// Without a limit, waits until the system's resolver returns.
lookup_answer look_up(std::string const& host, std::string const& port,
                      std::optional<std::chrono::steady_clock::time_point> limit);

}  // namespace muster
