// One stream of a client to the server, from connecting to its status. One coroutine reads and one
// writes; a stream_side processes the messages. Used by sessions and workers. Engine thread only.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <string>

#include "client/link/client_engine.hpp"
#include "coro/client_bidi.hpp"
#include "coro/event.hpp"

namespace muster {

/// Source and destination of a stream's messages. Called only by server_stream::run().
class stream_side {
 public:
  enum class next { message, nothing, half_close };

  /// Called when the call was sent, before anything is read or written.
  virtual void connected() = 0;
  /// Encodes the oldest waiting message. After `nothing` it is called again upon wake(), after
  /// `half_close` never.
  virtual next next_message(grpc::ByteBuffer& to) = 0;
  /// Processes a message, and may empty it. Returns an empty string, or a description of a protocol
  /// violation, which ends the stream.
  virtual std::string take(grpc::ByteBuffer& message) = 0;
  /// Called when no further messages will arrive; the status follows.
  virtual void input_ended() {}

 protected:
  ~stream_side() = default;
};

class server_stream {
 public:
  /// `method` is "/package.Service/Method". Connects to the chosen server of a list; if it does not
  /// answer, the next stream uses the next server. `side` must outlive run(). See add_token for
  /// `token`.
  server_stream(client_engine& engine, std::string const& servers, tls_options const& tls,
                std::string const& token, char const* method, stream_side& side);

  /// Runs the stream and returns its status; violation() may contain a further error. Cancellation
  /// (terminal) cancels the call. It has no deadline: the side cancels a stream that is not
  /// answered, and keepalive detects a dead server later. Must be called once.
  [[nodiscard]] coro::task<grpc::Status> run();
  /// Announces that a message waits.
  void wake() { pending_.set(); }
  /// Cancels the call; run() completes soon.
  void cancel() { call_.cancel(); }

  /// Returns the protocol violation that take() reported; empty if there was none.
  std::string const& violation() const { return violation_; }
  grpc::ClientContext& context() { return call_.context(); }

 private:
  [[nodiscard]] coro::task<void> read_all();
  [[nodiscard]] coro::task<void> write_all();

  std::string const servers_, server_;
  std::shared_ptr<grpc::Channel> const channel_;
  char const* const method_;
  stream_side& side_;
  coro::client_bidi<grpc::ByteBuffer, grpc::ByteBuffer> call_;
  coro::event pending_;  // a message may wait, or the input has ended
  grpc::ByteBuffer read_;
  grpc::ByteBuffer written_;
  bool input_ended_ = false;
  bool answered_ = false;
  std::string violation_;
};

}  // namespace muster
