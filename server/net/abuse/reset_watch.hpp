// Detects clients that start and reset calls faster than gRPC reads them (HTTP/2 rapid reset,
// CVE-2023-44487). While data is available, gRPC 1.51 reads a connection on the engine thread
// before it reports any call.
// A separate thread pings the engine. While the engine does not answer, the thread examines the
// unread data of all plaintext connections. gRPC 1.60 has its own protection (grpc/grpc#34637); the
// combination was not tested. Owned by the accepting_server; created and destroyed on the engine
// thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "coro/engine_context.hpp"

namespace muster::net {

/// Counts the RST_STREAM frames with increasing stream numbers in a part of an HTTP/2 connection's
/// input. `bytes` can start in the middle of a frame.
std::size_t resets_in(std::string_view bytes);

class reset_watch {
 public:
  /// REQUIRES: `engine` outlives the watch.
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
  std::jthread thread_;  // last, so that it is joined first
};

}  // namespace muster::net
