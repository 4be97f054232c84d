// What both ports have in common towards the network: sockets that a parent keeps, relays that are
// believed, the shortage of descriptors, and the files of the server's certificate, watched. Owned
// by the composition root, outlives both servers; any thread, but for the constructor.
#pragma once

#include <optional>

#include "app/configuration.hpp"
#include "app/process_setup.hpp"
#include "server/net/accepting_server.hpp"
#include "server/net/service_manager.hpp"
#include "server/net/tls_files.hpp"

namespace muster::server {

class perimeter {
 public:
  /// Reads the files. Errors: start_error names the flag and the file. REQUIRES: `manager` outlives
  /// it.
  perimeter(configuration const& c, net::service_manager& manager);

  net::service_manager& manager() { return manager_; }
  net::proxy_rules const& relays() const { return relays_; }
  /// Null: plaintext is spoken.
  net::tls_files const* tls() const { return files_ ? &*files_ : nullptr; }
  /// To be called whenever there is none left.
  std::function<void()> out_of_descriptors() {
    return [this] { shortage_.noticed(); };
  }

 private:
  net::service_manager& manager_;
  net::proxy_rules const relays_;
  descriptor_shortage shortage_{file_limit()};
  std::optional<net::tls_files> files_;  // has a thread of its own
};

}  // namespace muster::server
