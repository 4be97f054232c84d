// --ca, --cert and --key: whom a verb trusts when it asks a server over TLS, and what it shows.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "http_client/http_client.hpp"

namespace muster::cli {

struct tls_flags {
  std::string ca, certificate, key;  // PEM files; empty: the system's authorities, nothing
};
void add_tls_flags(CLI::App& verb, tls_flags& flags);

inline muster::http_client http_client_with(tls_flags const& f) {
  muster::http_client_options o;
  o.ca_file = f.ca;
  return muster::http_client(o, {f.certificate, f.key});
}

}  // namespace muster::cli
