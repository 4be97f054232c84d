// Copies data from one socket to another until the first socket reaches its end. All pumps of a
// thread share a buffer. Data that the receiver does not accept immediately is copied, and reading
// pauses until the data was sent. Each direction therefore stores at most one full buffer, and idle
// connections store nothing.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <span>

#include "coro/task.hpp"

namespace muster::relay {

/// Copies until the end of `from`, then closes the sending half of `to`. Returns false if the
/// connection broke. REQUIRES: both sockets are non-blocking; no other thread uses `shared`.
coro::task<bool> pump(boost::asio::ip::tcp::socket& from, boost::asio::ip::tcp::socket& to,
                      std::span<char> shared);

}  // namespace muster::relay
