// Accepts TCP connections on ports that can be opened and closed at run time. Passes on connections
// whose client has sent its HTTP/2 preface, or a ClientHello on a TLS port, so gRPC never receives
// silent clients. Has its own thread. Owned by the accepting_server. Called by the engine thread,
// or by its creator before run(). States of a connection:
//
//   accepted --complete preface, or other data--> passed on
//
// A connection is closed if it is silent for first_data_timeout, if a newer connection needs its
// place, or if the client closes it.
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
  // Limits for all connections with an incomplete preface, on all ports together.
  waiting_options waiting;
  proxy_rules proxies = {};
  // TCP_USER_TIMEOUT of accepted sockets: a connection fails if sent data is not acknowledged
  // within this time. 0 selects the system's default.
  std::chrono::milliseconds user_timeout{0};
  // Called on the listener's thread when no descriptor is free for a connection. The listener then
  // closes the oldest incomplete connection. If there is no incomplete connection, it stops
  // accepting for 100 ms, and clients wait in the backlog.
  std::function<void()> out_of_descriptors = [] {};
  // Keeps the listening sockets for the next process. Can be null; outlives the listener.
  service_manager* manager = nullptr;
};

// Protocol of a port's clients. Plaintext connections are passed on with their preface, or with any
// other data, which gRPC then validates. TLS connections are passed on with a complete ClientHello,
// and closed if the client sends anything else.
enum class wire { plaintext, tls };

struct accepted_socket {
  file_descriptor socket;
  std::string peer;    // "10.0.0.3:4711"
  std::string client;  // the client behind a relay, otherwise the peer
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
  ~port_listener();
  port_listener(port_listener const&) = delete;

  // Binds a port, which accepts connections after start(). Port 0 selects a free port. The IPv4
  // wildcard address also accepts IPv6 clients if the system has IPv6. The manager, if set,
  // identifies the port by `name` and can provide its socket from an earlier process. Returns
  // INVALID_ARGUMENT if `address` is not an IP address, and FAILED_PRECONDITION with the system's
  // reason if the system refuses.
  muster::result<listening> listen(std::string const& name, std::string const& address,
                                   std::uint16_t port, handler accepted,
                                   wire spoken = wire::plaintext);
  void start();
  // Closes a port asynchronously. The manager also drops its socket. Has no effect if the port is
  // not open.
  void close(std::uint32_t id);
  // Closes all ports and connections, and ends the thread. No connection is passed on afterwards.
  // Idempotent.
  void stop();

  // Thread-safe.
  [[nodiscard]] connection_counts counts() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace muster::net
