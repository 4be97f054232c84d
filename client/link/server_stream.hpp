// One stream from a client to the server, from connecting to the final status. One coroutine reads,
// and another coroutine writes. Used only on the engine thread.
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

  /// Called before anything is read or written.
  virtual void connected() = 0;
  /// Encodes the oldest message. After a result of `nothing`, the function is called again when
  /// wake() is called. After `half_close`, it is never called again.
  virtual next next_message(grpc::ByteBuffer& to) = 0;
  /// Processes a message, and can empty it. Returns an empty string, or a description of a protocol
  /// violation, which ends the stream.
  virtual std::string take(grpc::ByteBuffer& message) = 0;
  /// Called after the last message, before the status arrives.
  virtual void input_ended() {}

 protected:
  ~stream_side() = default;
};

class server_stream {
 public:
  /// `method` is "/package.Service/Method". Connects to the current server of a list; if it does
  /// not answer, the next stream uses the next server. `side` must outlive run(). See add_token for
  /// `token`.
  server_stream(client_engine& engine, std::string const& servers, tls_options const& tls,
                std::string const& token, char const* method, stream_side& side);

  /// Runs the stream and returns its status; violation() can contain a further error. Must be
  /// called once. Terminal cancellation cancels the call. There is no deadline, because `side`
  /// cancels an unanswered stream, and keepalive detects a server that fails later.
  [[nodiscard]] coro::task<grpc::Status> run();
  void wake() { pending_.set(); }
  /// Cancels the call; run() then completes soon.
  void cancel() { call_.cancel(); }

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
  coro::event pending_;  // set when a message is waiting or the input has ended
  grpc::ByteBuffer read_;
  grpc::ByteBuffer written_;
  bool input_ended_ = false;
  bool answered_ = false;
  std::string violation_;
};

}  // namespace muster
