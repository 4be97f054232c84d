// A server certificate, its key and the CA certificates for clients, reloaded when their files
// change. A valid replacement is used from the next handshake on. An invalid replacement is
// reported, and the old contents remain in use. Owned by the composition root; outlives all servers
// that use it. Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/status.hpp"

namespace muster::net {

struct tls_paths {
  std::string certificate;  // the server's certificate, then intermediate certificates, in PEM
  std::string key;          // PEM, without a password
  std::string client_ca;    // PEM; if empty, clients are not asked for a certificate
};

struct tls_material {
  std::string certificate, key, client_ca;
  std::chrono::system_clock::time_point not_after;  // expiry of the server's certificate

  bool expired() const { return not_after <= std::chrono::system_clock::now(); }
};

/// Accepts an expired certificate. Returns FAILED_PRECONDITION with the file and the problem, for
/// example a key that does not match.
muster::result<tls_material> load_tls(tls_paths const& paths);

class tls_files {
 public:
  /// Called once per replacement, on the thread of this class. `warning` means that the replacement
  /// cannot be used.
  using listener = std::function<void(bool warning, std::string const& line)>;

  /// REQUIRES: `loaded` was loaded from these paths.
  tls_files(tls_paths paths, tls_material loaded, listener tell);

  /// Returns the current contents, never null. After a change, the pointer is different.
  [[nodiscard]] std::shared_ptr<tls_material const> current() const;
  [[nodiscard]] bool asks_clients() const { return !paths_.client_ca.empty(); }

 private:
  void look();
  std::string signature() const;

  tls_paths const paths_;
  listener const tell_;
  std::string seen_;  // signature of the files when last read; used by the thread
  mutable std::mutex mutex_;
  std::shared_ptr<tls_material const> current_;
  std::jthread thread_;  // last member, because it uses the other members
};

}  // namespace muster::net
