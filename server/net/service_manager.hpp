// Whoever started this process and keeps its listening sockets when it ends, so that the next one
// goes on with them and clients that dial meanwhile wait instead of being refused: systemd (socket
// units, descriptor store) or `muster serve --supervise`, which speaks the same protocol
// (sd_listen_fds(3), sd_notify(3)). Without one nothing is kept.
//
// Owned by the composition root and outlives all listeners. Any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/process/file_descriptor.hpp"

namespace muster::net {

class service_manager {
 public:
  /// Nobody keeps anything.
  service_manager() = default;
  /// As the environment says, whose variables are taken out of it: LISTEN_PID, LISTEN_FDS,
  /// LISTEN_FDNAMES, NOTIFY_SOCKET, FDSTORE. REQUIRES: before the first thread.
  static service_manager from_environment();
  service_manager(service_manager&& other) noexcept;
  service_manager& operator=(service_manager&&) = delete;

  /// Whether sockets outlive this process: it was told that they are stored, or given one, since
  /// systemd before 254 does not tell.
  bool holds_sockets() const { return holds_; }

  /// The listening socket that is kept under this name, or of this address; -1: there is none. With
  /// port 0 any port will do. The caller owns it.
  int take(std::string_view name, std::string_view address, std::uint16_t port);
  /// Has a copy kept under this name, for the next process.
  void keep(std::string_view name, int socket) const;
  /// The next process needs it no more.
  void drop(std::string_view name) const;
  /// Everything that nobody has taken.
  void drop_rest();
  /// The process serves.
  void ready() const { send("READY=1", -1); }

 private:
  struct held {
    std::string name;
    file_descriptor socket;
  };
  void send(std::string const& text, int socket) const;

  bool holds_ = false;
  std::string notify_;  // the manager's address; empty: none
  std::mutex mutex_;
  std::vector<held> held_;  // under mutex_
};

/// Dropped where the listener's queue is full; with any other text that is waited for.
constexpr std::string_view sign_of_life = "WATCHDOG=1";

/// One datagram as sd_notify(3) sends it. `address`: of NOTIFY_SOCKET ("@…" for an abstract one);
/// empty: nobody listens, nothing is sent. `socket`: a copy goes along; -1: none. Best effort, as
/// the protocol has it.
void send_notice(std::string const& address, std::string const& text, int socket = -1);

}  // namespace muster::net
