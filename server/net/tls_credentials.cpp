#include "server/net/tls_credentials.hpp"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>

#include <mutex>
#include <vector>

namespace muster::net {
namespace {

struct fetcher {
  tls_files const& files;
  std::mutex mutex;
  std::shared_ptr<tls_material const> last;

  grpc_ssl_certificate_config_reload_status fetch(grpc_ssl_server_certificate_config** config) {
    std::lock_guard const lock(mutex);
    auto now = files.current();
    if (now == last) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    grpc_ssl_pem_key_cert_pair const pair{now->key.c_str(), now->certificate.c_str()};
    // gRPC 1.51 aborts without a CA certificate and rejects an empty certificate. If clients are
    // not asked for certificates, the CA is unused, so the server's certificate serves as a
    // placeholder.
    auto const& authority = now->client_ca.empty() ? now->certificate : now->client_ca;
    *config = grpc_ssl_server_certificate_config_create(authority.c_str(), &pair, 1);
    last = std::move(now);
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }
};

// gRPC 1.51 offers a certificate fetcher only in its C API.
class watched_credentials final : public grpc::ServerCredentials {
 public:
  watched_credentials(tls_files const& files, bool required) : files_(files), required_(required) {}

  void SetAuthMetadataProcessor(std::shared_ptr<grpc::AuthMetadataProcessor> const&) override {}

 private:
  int AddPortToServer(std::string const& address, grpc_server* server) override {
    auto& own = *fetchers_.emplace_back(new fetcher{files_, {}, {}});
    auto const fetch = [](void* f, grpc_ssl_server_certificate_config** config) {
      return static_cast<fetcher*>(f)->fetch(config);
    };
    auto const request = !files_.asks_clients() ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
                         : required_ ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                                     : GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY;
    auto* const credentials = grpc_ssl_server_credentials_create_with_options(
        grpc_ssl_server_credentials_create_options_using_config_fetcher(request, fetch, &own));
    int const port = grpc_server_add_http2_port(server, address.c_str(), credentials);
    grpc_server_credentials_release(credentials);
    return port;
  }

  tls_files const& files_;
  bool const required_;
  std::vector<std::unique_ptr<fetcher>> fetchers_;
};

}  // namespace

std::shared_ptr<grpc::ServerCredentials> tls_server_credentials(tls_files const& files,
                                                                bool required) {
  return std::make_shared<watched_credentials>(files, required);
}

std::string certificate_name(grpc::ServerContext const& context) {
  auto const who = context.auth_context();
  if (!who || !who->IsPeerAuthenticated()) return {};
  auto const names = who->FindPropertyValues(GRPC_X509_CN_PROPERTY_NAME);
  return names.empty() ? std::string() : std::string(names.front().data(), names.front().size());
}

}  // namespace muster::net
