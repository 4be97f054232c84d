// The process that started this one and keeps its listening sockets across restarts, so that
// clients wait instead of being refused. It is systemd (socket units, descriptor store) or `muster
// serve --supervise`, which uses the same protocol (sd_listen_fds(3), sd_notify(3)).
//
// Owned by the composition root; outlives all listeners. Any thread.
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
  /// Creates an object without a manager: nothing is kept.
  service_manager() = default;
  /// Reads and removes the environment variables LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES,
  /// NOTIFY_SOCKET and FDSTORE. REQUIRES: no thread was started yet.
  static service_manager from_environment();
  service_manager(service_manager&& other) noexcept;
  service_manager& operator=(service_manager&&) = delete;

  /// Returns whether sockets outlive this process. It is also true if a socket was inherited, since
  /// systemd before 254 does not announce its store.
  bool holds_sockets() const { return holds_; }

  /// Returns the stored listening socket with this name or address; -1 if there is none. Port 0
  /// matches any port. The caller owns the socket.
  int take(std::string_view name, std::string_view address, std::uint16_t port);
  /// Stores a copy of the socket under this name, for the next process.
  void keep(std::string_view name, int socket) const;
  void drop(std::string_view name) const;
  /// Removes all stored sockets that were not taken.
  void drop_rest();
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

/// The watchdog message. Dropped if the receiver's queue is full; for other messages, send_notice
/// waits.
constexpr std::string_view sign_of_life = "WATCHDOG=1";

/// Sends one datagram in the format of sd_notify(3). Best effort: errors are ignored.
/// @param address NOTIFY_SOCKET; "@…" for an abstract address. Nothing is sent if it is empty.
/// @param socket A descriptor to send a copy of; -1: none.
void send_notice(std::string const& address, std::string const& text, int socket = -1);

}  // namespace muster::net
