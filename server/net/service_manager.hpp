// Client of the process that started this process and keeps its listening sockets across restarts,
// so that clients wait instead of being refused. The manager is systemd (socket units, descriptor
// store) or `muster serve --supervise`. Both use the protocol of sd_listen_fds(3) and sd_notify(3).
//
// Owned by the composition root; outlives all listeners. Thread-safe.
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
  /// Creates an object without a manager, which keeps no sockets.
  service_manager() = default;
  /// Reads and removes the environment variables LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES,
  /// NOTIFY_SOCKET and FDSTORE. REQUIRES: no thread has been started yet.
  static service_manager from_environment();
  service_manager(service_manager&& other) noexcept;
  service_manager& operator=(service_manager&&) = delete;

  /// Returns whether sockets outlive this process. Also returns true if a socket was inherited,
  /// because systemd before 254 does not announce its descriptor store.
  bool holds_sockets() const { return holds_; }

  /// Returns the stored listening socket with this name or address, or -1. Port 0 matches any port.
  /// The caller owns the socket.
  int take(std::string_view name, std::string_view address, std::uint16_t port);
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
  std::string notify_;
  std::mutex mutex_;
  std::vector<held> held_;
};

/// Watchdog message. It is dropped if the receiver's queue is full; send_notice waits only for
/// other messages.
constexpr std::string_view sign_of_life = "WATCHDOG=1";

/// Sends one datagram in the format of sd_notify(3).
/// @param address NOTIFY_SOCKET; "@…" for an abstract address. If it is empty, nothing is sent.
/// @param socket Descriptor of which a copy is sent, or -1 to send no descriptor.
void send_notice(std::string const& address, std::string const& text, int socket = -1);

}  // namespace muster::net
