// One stream of a client to the server, from dialling to its status: a coroutine that reads, one
// that writes, and a side that says what the messages mean. Sessions and workers use it alike.
// Owned by whoever runs it; engine thread only.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <string>

#include "client/link/client_engine.hpp"
#include "coro/client_bidi.hpp"
#include "coro/event.hpp"

namespace muster {

/// What a stream carries. Called by server_stream::run() only.
class stream_side {
 public:
  enum class next { message, nothing, half_close };

  /// The call was sent; nothing was read or written.
  virtual void connected() = 0;
  /// Encodes the oldest message that waits. After `nothing` it is asked again upon wake(), after
  /// `half_close` never.
  virtual next next_message(grpc::ByteBuffer& to) = 0;
  /// Empty, or what the server did wrong: that ends the stream. `message` may be emptied.
  virtual std::string take(grpc::ByteBuffer& message) = 0;
  /// Nothing comes any more; the status follows.
  virtual void input_ended() {}

 protected:
  ~stream_side() = default;
};

class server_stream {
 public:
  /// `method`: "/package.Service/Method". Of several servers ("a:8476,b:8476") it dials the chosen
  /// one; when nothing comes from it, the next stream dials the next one. REQUIRES: `side` outlives
  /// run().
  /// `token`: see add_token.
  server_stream(client_engine& engine, std::string const& servers, tls_options const& tls,
                std::string const& token, char const* method, stream_side& side);

  /// Completion: the stream's status, once the call is over. Errors: in the status and violation().
  /// Cancellation: `terminal` cancels the call. Nothing here has a deadline: the side cancels a
  /// stream that is not answered, later keepalive sees a dead server. Once.
  [[nodiscard]] coro::task<grpc::Status> run();
  /// There is something to write.
  void wake() { pending_.set(); }
  /// Ends the call; run() completes soon.
  void cancel() { call_.cancel(); }

  /// What take() returned when it was not empty.
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
  coro::event pending_;  // there may be something to write, or the input has ended
  grpc::ByteBuffer read_;
  grpc::ByteBuffer written_;
  bool input_ended_ = false;
  bool answered_ = false;
  std::string violation_;
};

}  // namespace muster
