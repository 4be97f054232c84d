// Connects a client_session to the server through consecutive streams. Reconnects as long as the
// server keeps the session. Keeps itself and the session alive until it has ended.
//
// Any thread that has locked the session's mutex can call wake(), close() and cancel(), because the
// session cannot end while the mutex is locked. All other code runs on the engine thread.
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

  /// Must be called once, from any thread.
  void start();
  void wake();
  /// Starts the deadline for closing, and wakes the link.
  void close();
  void cancel();

 private:
  [[nodiscard]] coro::task<void> run(std::shared_ptr<session_link> self);
  [[nodiscard]] coro::task<grpc::Status> serve_one_stream();
  void connected() override { session_->connected(); }
  next next_message(grpc::ByteBuffer& to) override { return session_->next_message(to); }
  std::string take(grpc::ByteBuffer& message) override;
  /// Returns the reason for the session's end, or nothing if another stream is tried.
  std::optional<std::string> final_reason(grpc::Status const& status) const;
  void give_up_in(std::chrono::milliseconds t);
  void give_up();

  client_engine& engine_;
  std::shared_ptr<client_session> const session_;
  std::unique_ptr<server_stream> stream_;
  coro::timer deadline_;  // deadline for opening, reconnecting or closing
  coro::timer pause_;
  backoff backoff_;
  v1::SessionResponse message_;
  bool was_open_ = false;
  bool ending_ = false;  // whether the session is closing and must finish before a deadline
  bool gave_up_ = false;
  std::string violation_;
  std::chrono::milliseconds given_{0};
};

}  // namespace muster::detail
