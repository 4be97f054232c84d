// Network settings that both ports share: sockets kept by a parent process, trusted proxies,
// descriptor shortages, and the certificate's watched files. Owned by the composition root;
// outlives both servers. Thread-safe, except for the constructor.
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
  /// @pre `manager` outlives this object.
  /// @throws start_error with the flag and the file
  perimeter(configuration const& c, net::service_manager& manager);

  net::service_manager& manager() { return manager_; }
  net::proxy_rules const& relays() const { return relays_; }
  /// Returns null without TLS.
  net::tls_files const* tls() const { return files_ ? &*files_ : nullptr; }
  /// Returns a function to call whenever no descriptor is left.
  std::function<void()> out_of_descriptors() {
    return [this] { shortage_.noticed(); };
  }

 private:
  net::service_manager& manager_;
  net::proxy_rules const relays_;
  descriptor_shortage shortage_{file_limit()};
  std::optional<net::tls_files> files_;
};

}  // namespace muster::server
