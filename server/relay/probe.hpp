// Readiness checks of servers with `GET /readyz`. Also connects for the relay. Call all functions
// on their executor's thread.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/host_port.hpp"
#include "coro/task.hpp"
#include "server/relay/secure.hpp"

namespace muster::relay {

namespace asio = boost::asio;

/// Returns an empty string if the server answered 200, otherwise a reason such as "HTTP status
/// 503", "connection refused" or "no answer within 5 s". Without `tls`, the check uses plaintext.
coro::task<std::string> check_ready(host_port where, std::chrono::milliseconds limit,
                                    std::shared_ptr<tls_towards> tls = nullptr);

/// Returns the status code of an HTTP status line, such as 503 for "HTTP/1.1 503 Service
/// Unavailable". Returns nothing if the line is malformed. Pure.
std::optional<unsigned> status_of_line(std::string_view line);

/// Resolves the name and connects. Takes longer than `limit` if the system's resolver does not
/// return.
coro::task<boost::system::error_code> dial(asio::ip::tcp::socket& socket, host_port where,
                                           std::chrono::milliseconds limit);

/// Disables Nagle's algorithm and sets timeouts. A failed peer is detected within half a minute
/// after data was sent.
void prepare(asio::ip::tcp::socket& socket);

}  // namespace muster::relay
