#include "web/server/client_stream.hpp"

#include <openssl/x509.h>

#include <boost/beast/ssl/ssl_stream.hpp>
#include <boost/beast/websocket/ssl.hpp>

namespace muster::web {

namespace asio = boost::asio;
namespace beast = boost::beast;

struct client_stream::secure_stream : beast::ssl_stream<beast::tcp_stream&> {
  using ssl_stream::ssl_stream;
};

client_stream::client_stream(asio::ip::tcp::socket socket) : tcp_(std::move(socket)) {}
client_stream::~client_stream() = default;

void client_stream::read(asio::mutable_buffer into, transferred then) {
  if (tls_)
    tls_->async_read_some(into, std::move(then));
  else
    tcp_.async_read_some(into, std::move(then));
}

void client_stream::write(few_buffers const& from, transferred then) {
  if (tls_)
    tls_->async_write_some(from, std::move(then));
  else
    tcp_.async_write_some(from, std::move(then));
}

void client_stream::tear_down(beast::role_type role, coro::unique_function<void(error_code)> then) {
  if (tls_)
    tls_->async_shutdown(std::move(then));
  else
    beast::websocket::async_teardown(role, tcp_.socket(), std::move(then));
}

coro::task<boost::system::error_code> client_stream::tls_handshake(asio::ssl::context& tls) {
  tls_ = std::make_unique<secure_stream>(tcp_, tls);
  auto [ec] = co_await tls_->async_handshake(asio::ssl::stream_base::server, awaited);
  co_return ec;
}

coro::task<boost::system::error_code> client_stream::tls_shutdown() {
  auto [ec] = co_await tls_->async_shutdown(awaited);
  co_return ec;
}

std::string client_stream::certificate_name() {
  if (!tls_) return {};
  auto* const connection = tls_->native_handle();
  std::unique_ptr<X509, decltype(&X509_free)> const shown(SSL_get1_peer_certificate(connection),
                                                          &X509_free);
  if (!shown || SSL_get_verify_result(connection) != X509_V_OK) return {};
  auto* const subject = X509_get_subject_name(shown.get());
  int const at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0) return {};
  unsigned char* text = nullptr;
  int const size =
      ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
  if (size < 0) return {};
  std::string name(reinterpret_cast<char const*>(text), static_cast<std::size_t>(size));
  OPENSSL_free(text);
  return name;
}

}  // namespace muster::web
