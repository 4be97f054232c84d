// Where ranks of this host reach the coordination cluster of their program, a port of 127.0.0.1 for
// each attempt, and its store of torch, a port for each rank, by which the server knows which it
// is; and a tunnel to the server for each connection to it. Ports stay while servers come and go; a
// connection that comes while no server is there waits for one a while, and is closed. Owned by
// `ranks`. Engine thread, unless it says otherwise.
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
  /// A connection waits for the server so long.
  std::chrono::milliseconds patience{10'000};
  /// Tunnels at one time. More: the connection is closed.
  std::size_t tunnels_max = 2'048;
};

class tunnels {
 public:
  /// Any thread.
  explicit tunnels(tunnel_options o);
  ~tunnels();
  tunnels(tunnels const&) = delete;

  /// For the hello.
  std::string const& key() const { return key_; }
  /// Where the worker is attached: "host:port".
  void follow(std::string const& server);

  /// Gives the attempt's "127.0.0.1:port", or that of a rank of torch to its store, which is opened
  /// if need be. Errors: boost::system::system_error, the system refuses; std::runtime_error, too
  /// many.
  std::string open(std::uint64_t program, std::uint32_t attempt,
                   std::optional<std::uint32_t> torch_rank = {});
  /// All ports of the attempt and what came over them. Harmless when none is open.
  void close(std::uint64_t program, std::uint32_t attempt);
  /// All; returns when nothing is left. Any other thread than the engine's; idempotent.
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
  std::shared_ptr<grpc::Channel> channel_;  // null: it is made when it is needed
  // Nothing, of the ranks, comes first.
  using name = std::tuple<std::uint64_t, std::uint32_t, std::optional<std::uint32_t>>;
  std::map<name, std::shared_ptr<listener>> listeners_;
  std::size_t tunnels_ = 0;  // under way
  // The following from the first listener on.
  std::shared_ptr<client_engine> engine_;
  std::unique_ptr<coro::socket_poller> poller_;
  std::unique_ptr<coro::task_group> tasks_;
};

}  // namespace muster
