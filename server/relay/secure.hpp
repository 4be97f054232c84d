// TLS to the servers: settings that are reloaded when their files change, the handshake, and
// copying between a plaintext and a TLS socket. Used only on the relay's thread.
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
  /// Reads the files. Returns the same errors as make_client_context.
  static muster::result<std::shared_ptr<tls_towards>> from(https_options options);

  https_options const& options() const { return options_; }
  /// Checks the files at most once per second. While their contents do not match each other, the
  /// old settings remain in use.
  std::shared_ptr<asio::ssl::context> current();

 private:
  using context_ptr = std::shared_ptr<asio::ssl::context>;
  explicit tls_towards(https_options options) : options_(std::move(options)) {}
  std::string signature() const;

  https_options const options_;
  context_ptr current_;
  std::string seen_;  // signature of the files when last read
  std::chrono::steady_clock::time_point last_file_check_;
};

/// Protocol inside TLS. gRPC requires ALPN; HTTP/1.1 does not.
enum class inner { http, grpc };

/// Performs the handshake and verifies that the certificate is for `host`. Returns an empty string,
/// or the reason for a failure. Has no time limit.
coro::task<std::string> tls_handshake(tls_stream& stream, std::string host, inner spoken,
                                      std::shared_ptr<tls_towards> tls);

/// Copies in both directions until either side ends, then ends both sides, because TLS has no
/// half-open connections. Returns an empty string after an orderly end with all data written,
/// otherwise the error. Each direction has a 16 KiB buffer.
coro::task<std::string> carry_secured(asio::ip::tcp::socket& client, tls_stream& server);

}  // namespace muster::relay
