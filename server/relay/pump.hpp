// Moves bytes from one socket to another until the first one has said its last. Bytes pass through
// one buffer that all pumps of a thread share; what the receiver does not take at once is copied
// aside, and nothing more is read until it has gone: at most one buffer's worth waits in each
// direction, none while a connection is quiet.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <span>

#include "coro/task.hpp"

namespace muster::relay {

/// The end of `from` is passed on: that half of `to` is closed, the other one goes on. False: the
/// connection is broken. REQUIRES: both are non-blocking; `shared` is touched by nobody of another
/// thread.
coro::task<bool> pump(boost::asio::ip::tcp::socket& from, boost::asio::ip::tcp::socket& to,
                      std::span<char> shared);

}  // namespace muster::relay
