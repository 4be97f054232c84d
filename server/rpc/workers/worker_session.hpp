// One worker's stream: hello, then answers in and assignments out, until either side ends it.
//
//   reading:  hello ──► answers… ──► half-close / broken / protocol error
//   writing:  whatever is pending whenever the write slot is free; last, the status
//
// The hub decides about work (it may end the stream by on_disconnect), the reader about the
// protocol; whoever ends it first sets the status, and the writer sends it. Lives in the frame of
// its call's handler; engine thread only.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "coro/event.hpp"
#include "coro/server_bidi.hpp"
#include "coro/timer_queue.hpp"
#include "muster/v1/worker.pb.h"
#include "proto/outbox.hpp"
#include "server/hub/hub.hpp"
#include "server/rpc/workers/worker_service.hpp"

namespace muster::server {

class worker_session final : public worker_sink {
 public:
  using call = coro::server_bidi<grpc::ByteBuffer, grpc::ByteBuffer>;

  worker_session(server::hub& h, call& c, worker_service_options const& options);
  worker_session(worker_session const&) = delete;

  /// Serves the stream from hello to status. Completion: the call is finished and the hub has
  /// forgotten the worker. Errors: none. Cancellation: `terminal` cancels the call.
  [[nodiscard]] coro::task<void> run();

  /// Ends the stream with UNAVAILABLE.
  void shut_down();

  // worker_sink
  void on_welcome(core::welcome const& w) override;
  void on_dispatch(std::span<core::assignment const> batch) override;
  void on_stop(core::stop_request const& s) override;
  void on_drop(core::per_worker_id value) override;
  void on_drain() override;
  void on_disconnect(muster::status const& why, bool final) override;

 private:
  [[nodiscard]] coro::task<void> read_all();
  [[nodiscard]] coro::task<void> write_all();
  [[nodiscard]] coro::task<void> finish();

  muster::status take_read();
  muster::status take(v1::WorkerMessage const& message);
  muster::status take_hello(v1::Hello const& hello);
  muster::status take_results(v1::WorkerMessage const& message);
  /// The read gave nothing: half-closed, cancelled or broken.
  void input_ended();
  /// Moves the oldest pending message into written_.
  void encode_next();
  /// Sets the status that the writer sends. The first one counts.
  void end(grpc::Status status);
  /// Tells the hub that the worker is gone, unless it knows.
  void leave_hub(bool clean, std::string reason, bool may_return = false);
  void connection_lost();

  hub& hub_;
  call& call_;
  worker_service_options const& options_;

  core::stream_id stream_{};
  bool greeted_ = false;                     // hello was taken
  bool attached_ = false;                    // the hub knows this sink
  std::shared_ptr<std::string const> task_;  // "worker:3", for the log and for its lines
  std::vector<std::uint32_t> numbers_;       // by function_id: the function's number on this stream

  coro::event pending_;  // there is something to write, or the end has come
  /// Bounded by the worker's credits: the core never has more than that unanswered on a stream.
  proto::outbox<v1::ServerMessage> out_;
  grpc::ByteBuffer written_;

  grpc::ByteBuffer read_;
  v1::WorkerMessage message_;
  core::worker_results results_;

  bool ended_ = false;
  bool half_closed_ = false;  // the input ended; whether in order, finish() learns
  bool leave_asked_ = false;  // the worker has said that it wants to go
  std::uint32_t workers_told_ = 0;
  std::size_t outstanding_ = 0;  // closures sent and not answered
  grpc::Status status_;
  coro::timer deadline_;  // of hello, then of the end
};

}  // namespace muster::server
