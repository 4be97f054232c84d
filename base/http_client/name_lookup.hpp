// Resolves host names with a time limit, which getaddrinfo lacks. It runs on a separate thread.
// That thread is abandoned when the limit passes, and ends when the system's resolver gives up. Any
// thread; blocks.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <optional>
#include <string>

namespace muster {

struct lookup_answer {
  boost::system::error_code error;  // timed_out: the limit has passed
  std::vector<boost::asio::ip::tcp::endpoint> endpoints = {};
};

/// Resolves a host. Numeric addresses need no thread. Without a limit, it waits as long as the
/// system does.
lookup_answer look_up(std::string const& host, std::string const& port,
                      std::optional<std::chrono::steady_clock::time_point> limit);

}  // namespace muster
