#include "web/server/tls_contexts.hpp"

namespace muster::web {

namespace asio = boost::asio;
namespace ssl = asio::ssl;

namespace {

// TLS 1.2 ciphers with forward secrecy and without CBC, which many attacks target. The gRPC port
// uses the same ciphers. All TLS 1.3 ciphers are acceptable.
constexpr auto ciphers_1_2 =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:"
    "ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384:ECDHE-RSA-CHACHA20-POLY1305";

asio::const_buffer bytes_of(std::string const& pem) {
  return asio::buffer(pem);
}

// The files were validated when they were read, so this can fail only if memory is exhausted.
std::shared_ptr<ssl::context> make_context(net::tls_material const& m, bool required) {
  auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  auto* const native = context->native_handle();
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  SSL_CTX_set_options(
      native, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_cipher_list(native, ciphers_1_2);
  SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS);  // saves memory for idle connections
  constexpr unsigned char name[] = "muster";
  SSL_CTX_set_session_id_context(native, name, sizeof name - 1);
  context->use_certificate_chain(bytes_of(m.certificate));
  context->use_private_key(bytes_of(m.key), ssl::context::pem);
  if (m.client_ca.empty()) return context;
  context->add_certificate_authority(bytes_of(m.client_ca));
  context->set_verify_mode(ssl::verify_peer | (required ? ssl::verify_fail_if_no_peer_cert : 0));
  return context;
}

}  // namespace

std::shared_ptr<ssl::context> tls_contexts::current() {
  if (files_ == nullptr) return {};
  auto now = files_->current();
  if (now == made_of_) return context_;
  context_ = make_context(*now, required_);
  made_of_ = std::move(now);
  return context_;
}

}  // namespace muster::web
