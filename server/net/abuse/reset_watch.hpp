// The engine's thread reads connections, too: gRPC 1.51 goes on with one for as long as bytes are
// there, before it tells of a single call of them. Who begins calls and resets them faster than
// they are read (CVE-2023-44487) keeps everybody else from being served, and makes calls without
// end. So a thread of its own asks the engine for a sign of life, and while there is none looks at
// what connections have sent and gRPC has not read yet. Plaintext only: what TLS carries it cannot
// see. gRPC 1.60 has measures of its own against resets (grpc/grpc#34637), with which this has not
// been tried. Owned by the accepting_server; made and destroyed on the engine's thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "coro/engine_context.hpp"

namespace muster::net {

/// How many calls these bytes of an HTTP/2 connection take back: RST_STREAM frames of streams that
/// grow. They need not begin at a frame.
std::size_t resets_in(std::string_view bytes);

class reset_watch {
 public:
  /// `engine` outlives it. `was_cut`: on the watch's thread, with who was: "10.0.0.3:4711".
  /// `beside`: called there ten times a second.
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
  std::jthread thread_;  // its end waits for a look that is under way
};

}  // namespace muster::net
