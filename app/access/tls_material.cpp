// Flags into files, and what happens to these into the log.
#include "app/access/tls_material.hpp"

#include <spdlog/spdlog.h>

#include "net/tls_credentials.hpp"
#include "app/app.hpp"

namespace muster::server {
namespace {

void tell(bool warning, std::string const& line) {
  spdlog::log(warning ? spdlog::level::warn : spdlog::level::info, "TLS: {}", line);
}

}  // namespace

tls_material::tls_material(tls_settings const& s) {
  if (!s.on()) return;
  net::tls_paths const paths{s.certificate, s.key, s.client_ca};
  auto loaded = net::load_tls(paths);
  if (!loaded)
    throw start_error("--tls-cert, --tls-key, --tls-client-ca: " + loaded.error().message);
  if (loaded->expired())
    tell(true, "certificate " + paths.certificate + " has expired: clients will refuse it");
  files_.emplace(paths, std::move(*loaded), tell);
}

void listen_for_grpc(net::accepting_server& server, configuration const& c,
                     tls_material const& tls) {
  server.refuse_unknown_methods();
  auto const address = to_string(c.grpc);
  if (auto const* files = tls.files())
    server.add_tls_port(address, net::tls_server_credentials(*files, c.tls.client_required));
  else
    server.add_port(address);
}

}  // namespace muster::server
