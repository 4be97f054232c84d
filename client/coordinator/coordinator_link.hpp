// The streams of a cluster_coordinator, one after the other: connects, carries messages between the
// server and the coordinator_session, and comes back after a break for as long as the server keeps
// the session. Keeps itself alive until it has ended; engine thread only.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <chrono>
#include <memory>
#include <string>

#include "base/backoff.hpp"
#include "client/client_engine.hpp"
#include "client/coordinator/coordinator_session.hpp"
#include "coro/client_bidi.hpp"
#include "coro/event.hpp"
#include "coro/timer_queue.hpp"

namespace muster::detail {

class coordinator_link : public std::enable_shared_from_this<coordinator_link> {
 public:
  explicit coordinator_link(client_engine& engine);

  /// Any thread, once. `session` calls wake() from any thread.
  void start(std::shared_ptr<coordinator_session> session);
  void wake();

 private:
  using call = coro::client_bidi<grpc::ByteBuffer, grpc::ByteBuffer>;

  [[nodiscard]] coro::task<void> run(std::shared_ptr<coordinator_link> self);
  [[nodiscard]] coro::task<grpc::Status> serve_one_stream();
  [[nodiscard]] coro::task<void> read_all();
  [[nodiscard]] coro::task<void> write_all();
  /// Why no other stream is tried; empty: one is.
  std::string final_reason(grpc::Status const& status) const;
  void give_up_in(std::chrono::milliseconds t);
  void give_up();
  void look();

  client_engine& engine_;
  std::shared_ptr<coordinator_session> session_;
  std::unique_ptr<call> call_;
  coro::event pending_;
  coro::timer deadline_;  // of opened, of the return, or of the end
  coro::timer pause_;
  backoff backoff_;
  grpc::ByteBuffer read_;
  grpc::ByteBuffer written_;
  v1::SessionResponse message_;
  bool input_ended_ = false;
  bool was_open_ = false;  // on this stream
  bool ending_ = false;    // the session is being closed, which has a deadline
  bool gave_up_ = false;
  std::string violation_;  // what the server did wrong
  std::chrono::milliseconds given_{0};
};

}  // namespace muster::detail
