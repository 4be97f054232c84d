// The streams of a session, one after the other: dials, carries messages between the server and the
// client_session, and comes back after a break for as long as the server keeps the session. Keeps
// itself and the session alive until it has ended.
//
// wake(), close() and cancel() may be called by any thread that keeps the session from ending
// meanwhile (it holds the session's mutex); all else lives on the engine thread.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/backoff.hpp"
#include "client/link/server_stream.hpp"
#include "client/session/client_session.hpp"
#include "coro/timer_queue.hpp"

namespace muster::detail {

class session_link final : public std::enable_shared_from_this<session_link>, stream_side {
 public:
  session_link(client_engine& engine, std::shared_ptr<client_session> session);

  /// Any thread, once.
  void start();
  /// The session has something to say.
  void wake();
  /// The session is being closed, which has a deadline from now on.
  void close();
  /// Ends the stream that there is.
  void cancel();

 private:
  [[nodiscard]] coro::task<void> run(std::shared_ptr<session_link> self);
  [[nodiscard]] coro::task<grpc::Status> serve_one_stream();
  void connected() override { session_->connected(); }
  next next_message(grpc::ByteBuffer& to) override { return session_->next_message(to); }
  std::string take(grpc::ByteBuffer& message) override;
  /// Why no other stream is tried; none: one is.
  std::optional<std::string> final_reason(grpc::Status const& status) const;
  void give_up_in(std::chrono::milliseconds t);
  void give_up();

  client_engine& engine_;
  std::shared_ptr<client_session> const session_;
  std::unique_ptr<server_stream> stream_;
  coro::timer deadline_;  // of opened, of the return, or of the end
  coro::timer pause_;
  backoff backoff_;
  v1::SessionResponse message_;
  bool was_open_ = false;  // on this stream
  bool ending_ = false;    // the session is being closed, which has a deadline
  bool gave_up_ = false;
  std::string violation_;  // what the server did wrong
  std::chrono::milliseconds given_{0};
};

}  // namespace muster::detail
