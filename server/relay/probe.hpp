// Asks a server whether it serves: one connection, `GET /readyz`, its first line. Also how the
// relay dials. Any executor; its thread only.
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

/// Empty: it answered 200. Else why it does not serve: "HTTP status 503", "connection refused",
/// "no answer within 5 s". `tls`: it is asked over TLS; null: in plaintext.
coro::task<std::string> why_not_ready(host_port where, std::chrono::milliseconds limit,
                                      std::shared_ptr<tls_towards> tls = nullptr);

/// Of the first line of an HTTP answer: "HTTP/1.1 503 Service Unavailable" is 503. Nothing: it is
/// no such line. Pure.
std::optional<unsigned> status_of_line(std::string_view line);

/// Looks the name up and connects. A lookup that the system does not end may take longer than
/// `limit`.
coro::task<boost::system::error_code> dial(asio::ip::tcp::socket& socket, host_port where,
                                           std::chrono::milliseconds limit);

/// Without Nagle's delay; a peer that is gone is noticed within half a minute, if anything was
/// sent.
void prepare(asio::ip::tcp::socket& socket);

}  // namespace muster::relay
