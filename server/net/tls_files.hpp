// A certificate, its key and the authority of clients, read from files and watched: a replacement
// that fits is what the next handshake gets, one that does not is told and the old one stays. A
// thread of its own looks once a second. Owned by the composition root, above all servers that use
// it; any thread.
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
  std::string certificate;  // PEM, the server's first, then those that lead to its authority
  std::string key;          // PEM, without a password
  std::string client_ca;    // PEM; empty: clients are not asked for a certificate
};

/// What the files held: PEM texts that fit together.
struct tls_material {
  std::string certificate, key, client_ca;
  std::chrono::system_clock::time_point not_after;  // of the server's certificate

  bool expired() const { return not_after <= std::chrono::system_clock::now(); }
};

/// FAILED_PRECONDITION names the file and what is wrong with it: it cannot be read, is larger than
/// 1 MiB, is no PEM, or the key is another certificate's. An expired certificate is none of it.
muster::result<tls_material> load_tls(tls_paths const& paths);

class tls_files {
 public:
  /// Told of a replacement, or (`warning`) of one that cannot be used, once each; on the thread of
  /// its own.
  using listener = std::function<void(bool warning, std::string const& line)>;

  /// `loaded`: of these paths.
  tls_files(tls_paths paths, tls_material loaded, listener tell);

  /// Any thread; never null. Another pointer means another content.
  [[nodiscard]] std::shared_ptr<tls_material const> current() const;
  [[nodiscard]] bool asks_clients() const { return !paths_.client_ca.empty(); }

 private:
  void look();
  std::string signature() const;

  tls_paths const paths_;
  listener const tell_;
  std::string seen_;  // the files' state when last read; the watching thread's
  mutable std::mutex mutex_;
  std::shared_ptr<tls_material const> current_;  // under mutex_
  std::jthread thread_;                          // last: it uses all of the above
};

}  // namespace muster::net
