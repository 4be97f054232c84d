// Accepts TCP connections on ports that come and go while the server runs, on a thread of its own,
// and hands on those whose client has begun to speak: sent its HTTP/2 preface, or the start of a
// TLS handshake where that is spoken. Clients that say nothing never reach gRPC. Owned by the
// accepting_server; called by the engine thread, or before that runs by its creator.
//
//   accepted --whole preface, or none--> handed on
//       \--silent for speak_timeout, or made room for another, or closed by the client--> closed
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/connection_counts.hpp"
#include "base/process/file_descriptor.hpp"
#include "base/status.hpp"
#include "server/net/service_manager.hpp"
#include "server/net/waiting_options.hpp"

namespace muster::net {

struct port_listener_options {
  // Connections of all ports whose preface is incomplete.
  waiting_options waiting;
  // Relays that say on whose behalf they connect.
  proxy_rules proxies = {};
  // TCP_USER_TIMEOUT of accepted sockets: what was sent and is not acknowledged for so long means
  // that the peer is gone. 0: as the system has it.
  std::chrono::milliseconds user_timeout{0};
  // Called on the listener's thread when no descriptor was left for a connection. The oldest one
  // that is incomplete makes room, else accepting pauses for 100 ms and clients wait in the
  // backlog.
  std::function<void()> out_of_descriptors = [] {};
  // Keeps the listening sockets for the next process; null: nobody does. Outlives the listener.
  service_manager* manager = nullptr;
};

// What clients of a port speak. To plaintext they are handed on with their preface, or with words
// that are none and that gRPC judges; to TLS with a whole ClientHello, and closed at anything else.
enum class wire { plaintext, tls };

// A connected socket, non-blocking, without Nagle's delay, closed on exec.
struct accepted_socket {
  file_descriptor socket;
  std::string peer;    // "10.0.0.3:4711"
  std::string client;  // the same, or who is behind that peer
};

class port_listener {
 public:
  // Called on the listener's thread.
  using handler = std::function<void(accepted_socket)>;
  struct listening {
    std::uint32_t id = 0;
    std::uint16_t port = 0;
  };

  explicit port_listener(port_listener_options options);
  // Stops.
  ~port_listener();
  port_listener(port_listener const&) = delete;

  // Binds at once and accepts once started. Port 0 lets the system pick one; the IPv4 wildcard
  // takes IPv6 clients too where the system has IPv6. INVALID_ARGUMENT: no IP address.
  // FAILED_PRECONDITION: the system's reason. The manager, if there is one, knows the port by its
  // name, and may have its socket from an earlier process.
  muster::result<listening> listen(std::string const& name, std::string const& address,
                                   std::uint16_t port, handler accepted,
                                   wire spoken = wire::plaintext);
  // Begins to accept. Once.
  void start();
  // Soon, not at once, and for good: the manager forgets it too. Harmless when the port is not
  // open.
  void close(std::uint32_t id);
  // Closes everything and ends the thread. Idempotent; nothing is handed on afterwards.
  void stop();

  // Any thread.
  [[nodiscard]] connection_counts counts() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace muster::net
