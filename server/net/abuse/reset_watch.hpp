// Detects clients that start and reset calls faster than gRPC reads them (HTTP/2 rapid reset,
// CVE-2023-44487). gRPC 1.51 reads a connection on the engine thread while data is available,
// before it reports any of the connection's calls. Such a client therefore blocks all other clients
// and creates an unlimited number of calls.
//
// A thread pings the engine, and while there is no answer it examines the unread data of all
// connections. This works for plaintext only. gRPC 1.60 has its own protection (grpc/grpc#34637),
// which was not tested together with this. Owned by the accepting_server; created and destroyed on
// the engine thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "coro/engine_context.hpp"

namespace muster::net {

/// Returns the number of RST_STREAM frames with increasing stream numbers in a part of the input of
/// an HTTP/2 connection. `bytes` can start in the middle of a frame.
std::size_t resets_in(std::string_view bytes);

class reset_watch {
 public:
  /// Starts the thread. REQUIRES: `engine` outlives the watch.
  /// @param was_cut Called on the watch's thread with the peer of a closed connection,
  ///   "10.0.0.3:4711".
  /// @param beside Called on the watch's thread ten times per second.
  reset_watch(
      coro::engine_context& engine, std::function<void(std::string const& peer)> was_cut,
      std::function<void()> beside = [] {});
  reset_watch(reset_watch const&) = delete;

 private:
  void run(std::stop_token stop);
  void look();

  coro::engine_context& engine_;
  std::function<void(std::string const&)> const was_cut_;
  std::function<void()> const beside_;
  std::jthread thread_;  // joined first by the destructor
};

}  // namespace muster::net
