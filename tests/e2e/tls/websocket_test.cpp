// The WebSocket over TLS, byte by byte, as a browser would open it.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>

#include "tests/e2e/cluster.hpp"

namespace muster::e2e {
namespace {

namespace asio = boost::asio;

TEST(tls, websocket_opens_over_tls_and_greets) {
  cluster c;
  auto const directory = c.file("tls");
  ASSERT_EQ(c.run({"tls", "init", directory.string()}).status, 0);
  c.serve({"--tls-cert", (directory / "server.pem").string(), "--tls-key",
           (directory / "server.key").string()});
  asio::io_context context;
  asio::ssl::context trust(asio::ssl::context::tls_client);
  trust.set_verify_mode(asio::ssl::verify_peer);
  trust.load_verify_file((directory / "ca.pem").string());
  asio::ssl::stream<asio::ip::tcp::socket> stream(context, trust);
  auto const port = c.http().substr(c.http().rfind(':') + 1);
  stream.next_layer().connect(
      {asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(std::stoi(port))});
  timeval const limit{20, 0};
  ::setsockopt(stream.next_layer().native_handle(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  stream.handshake(asio::ssl::stream_base::client);
  asio::write(stream, asio::buffer("GET /api/v1/ws HTTP/1.1\r\nHost: " + c.http() +
                                   "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                                   "Sec-WebSocket-Version: 13\r\n"
                                   "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                                   "Sec-WebSocket-Protocol: muster.v1\r\n\r\n"));
  std::string seen;
  boost::system::error_code ec;
  while (!ec && seen.find("\"hello\"") == std::string::npos) {
    char bytes[4096];
    auto const n = stream.read_some(asio::buffer(bytes), ec);
    seen.append(bytes, n);
  }
  EXPECT_TRUE(seen.starts_with("HTTP/1.1 101")) << seen;
  EXPECT_NE(seen.find("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), std::string::npos) << seen;
  EXPECT_NE(seen.find("\"hello\""), std::string::npos) << ec.message();
  // A clean end: a close frame, which has to be masked, is answered by one.
  unsigned char const close[] = {0x88, 0x82, 1, 2, 3, 4, 0x03 ^ 1, 0xe8 ^ 2};
  asio::write(stream, asio::buffer(close));
  while (!ec) {
    char bytes[4096];
    stream.read_some(asio::buffer(bytes), ec);
  }
  EXPECT_NE(ec, asio::error::would_block) << "the server ends the connection";
}

TEST(tls, tls_1_2_has_no_cbc_ciphers_and_uses_the_servers_order) {
  cluster c;
  auto const directory = c.file("tls");
  ASSERT_EQ(c.run({"tls", "init", directory.string()}).status, 0);
  c.serve({"--tls-cert", (directory / "server.pem").string(), "--tls-key",
           (directory / "server.key").string()});
  auto const chosen = [&](char const* offered) -> std::string {
    asio::io_context context;
    asio::ssl::context trust(asio::ssl::context::tlsv12_client);
    EXPECT_EQ(SSL_CTX_set_cipher_list(trust.native_handle(), offered), 1) << offered;
    asio::ssl::stream<asio::ip::tcp::socket> stream(context, trust);
    auto const port = c.http().substr(c.http().rfind(':') + 1);
    stream.next_layer().connect(
        {asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(std::stoi(port))});
    boost::system::error_code ec;
    stream.handshake(asio::ssl::stream_base::client, ec);
    return ec ? "refused" : SSL_get_cipher_name(stream.native_handle());
  };
  EXPECT_EQ(chosen("ECDHE-ECDSA-AES256-SHA384:ECDHE-ECDSA-AES128-SHA256:ECDHE-ECDSA-AES256-SHA:"
                   "ECDHE-ECDSA-AES128-SHA:ECDHE-RSA-AES128-SHA:AES128-SHA:AES128-GCM-SHA256"),
            "refused");
  EXPECT_EQ(chosen("ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES128-GCM-SHA256"),
            "ECDHE-ECDSA-AES128-GCM-SHA256");
}

}  // namespace
}  // namespace muster::e2e
