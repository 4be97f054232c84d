// TLS towards the servers: the settings of OpenSSL from files that are read again once they have
// changed, the handshake, and bytes between a plaintext socket and a TLS one. One thread, that of
// the relay.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "base/http_client/tls_client.hpp"
#include "base/status.hpp"
#include "coro/task.hpp"

namespace muster::relay {

namespace asio = boost::asio;

using tls_stream = asio::ssl::stream<asio::ip::tcp::socket&>;

class tls_towards {
 public:
  /// Reads the files. Errors: those of make_client_context.
  static muster::result<std::shared_ptr<tls_towards>> from(https_options options);

  https_options const& options() const { return options_; }
  /// What the files hold; they are looked at once a second, and what does not fit together, as
  /// while they are being replaced, leaves what was there before.
  std::shared_ptr<asio::ssl::context> current();

 private:
  using context_ptr = std::shared_ptr<asio::ssl::context>;
  explicit tls_towards(https_options options) : options_(std::move(options)) {}
  std::string signature() const;

  https_options const options_;
  context_ptr current_;
  std::string seen_;  // the files' state when last read
  std::chrono::steady_clock::time_point looked_;
};

/// What is spoken within TLS: gRPC wants its name, and servers of HTTP/1.1 need none.
enum class inner { http, grpc };

/// Empty: done, with a server that its certificate names `host`. Else why not. No limit of its own:
/// the caller has one.
coro::task<std::string> shake_hands(tls_stream& stream, std::string host, inner spoken,
                                    std::shared_ptr<tls_towards> tls);

/// Until one side ends, which ends both: TLS has no half of a connection that could go on. Gives
/// what broke it; empty: it ended in order, and what had come was passed on. Each direction has 16
/// KiB of its own.
coro::task<std::string> carry_secured(asio::ip::tcp::socket& client, tls_stream& server);

}  // namespace muster::relay
