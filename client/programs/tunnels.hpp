// Local ports through which ranks reach the server: one per attempt for the program's coordination
// cluster, and one per PyTorch rank for its TCPStore. The port identifies the rank. Each connection
// has a tunnel to the server. Ports outlive the connection to a server. If there is no server, a
// connection waits for up to `patience` and is then closed.
//
// Used only on the engine thread unless stated otherwise.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "client/link/client_engine.hpp"
#include "coro/socket_poller.hpp"
#include "coro/task_group.hpp"

namespace muster {

struct tunnel_options {
  tls_options tls{};
  std::string token{};
  std::chrono::milliseconds patience{10'000};
  /// Maximum number of tunnels; further connections are closed.
  std::size_t tunnels_max = 2'048;
};

class tunnels {
 public:
  /// Can be called on any thread.
  explicit tunnels(tunnel_options o);
  ~tunnels();
  tunnels(tunnels const&) = delete;

  /// Returns the key for the hello.
  std::string const& key() const { return key_; }
  /// `server` is "host:port".
  void follow(std::string const& server);

  /// Returns the address "127.0.0.1:port" for the attempt, or for a PyTorch rank's TCPStore. Opens
  /// the port if necessary.
  /// @throws boost::system::system_error if the port cannot be opened
  /// @throws std::runtime_error if there are too many ports
  std::string open(std::uint64_t program, std::uint32_t attempt,
                   std::optional<std::uint32_t> torch_rank = {});
  /// Closes all ports and connections of the attempt.
  void close(std::uint64_t program, std::uint32_t attempt);
  /// Waits until everything is closed. Must not be called on the engine thread; idempotent.
  void end();

 private:
  struct listener;

  void begin();
  coro::task<void> accept(std::shared_ptr<listener> at);
  coro::task<void> carry(std::shared_ptr<listener> at, boost::asio::ip::tcp::socket socket);
  coro::task<void> wait_for_end(std::function<void()> done);
  std::shared_ptr<grpc::Channel> channel();

  tunnel_options const options_;
  std::string const key_;
  std::string server_;
  std::shared_ptr<grpc::Channel> channel_;
  // A listener without a rank is for the coordination cluster; its name sorts first.
  using name = std::tuple<std::uint64_t, std::uint32_t, std::optional<std::uint32_t>>;
  std::map<name, std::shared_ptr<listener>> listeners_;
  std::size_t tunnels_ = 0;
  std::shared_ptr<client_engine> engine_;
  std::unique_ptr<coro::socket_poller> poller_;
  std::unique_ptr<coro::task_group> tasks_;
};

}  // namespace muster
