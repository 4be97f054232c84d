// An outgoing call that streams in both directions, owned by its coroutine. Request and Response
// are Protobuf messages or grpc::ByteBuffer. Engine thread only.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/async_stream.h>

#include <memory>
#include <type_traits>
#include <utility>

#include "coro/rpc_tag.hpp"

namespace muster::coro {

// At most one read and one write at a time. Cancelling any awaitable with `terminal` cancels the
// whole call; the task still completes only when gRPC has returned the operation.
template <class Request, class Response>
class client_bidi {
 public:
  using stream_type = grpc::ClientAsyncReaderWriter<Request, Response>;

  explicit client_bidi(engine_context& engine) : engine_(engine) {}
  // Cancels an unfinished call.
  // @pre No operation is outstanding.
  ~client_bidi() {
    check(!starting_ && !reading_ && !writing_ && !finishing_,
          "a call dies after all its operations came back");
  }
  client_bidi(client_bidi const&) = delete;

  // For metadata, deadline and wait_for_ready, before start().
  [[nodiscard]] grpc::ClientContext& context() noexcept { return context_; }

  // Starts the call, once. Completes with true when it was sent, or false when it failed and
  // finish() has the reason.
  // @param prepare `prepare(grpc::ClientContext*, grpc::CompletionQueue*)` creates the stream;
  // called at once
  template <class Prepare>
  requires std::is_invocable_r_v<std::unique_ptr<stream_type>, Prepare&, grpc::ClientContext*,
                                 grpc::CompletionQueue*> [[nodiscard]] task<bool>
  start(Prepare prepare) {
    check(stream_ == nullptr, "a call is started once");
    stream_ = prepare(&context_, &engine_.queue());
    auto begin = [stream = stream_.get()](void* tag) { stream->StartCall(tag); };
    return await_rpc(engine_, starting_, &context_, begin);
  }

  // Completes with false when the call has ended; then call finish().
  // @pre Started. `response` outlives the read.
  [[nodiscard]] task<bool> read(Response& response) {
    auto begin = [s = stream_.get(), &response](void* tag) { s->Read(&response, tag); };
    return await_rpc(engine_, reading_, &context_, begin);
  }

  // Encodes `request` when first awaited, after which it can be changed. Completes with false when
  // the call has ended.
  // @pre Started, and writes_done() was not called.
  [[nodiscard]] task<bool> write(Request const& request) {
    auto begin = [s = stream_.get(), &request](void* tag) { s->Write(request, tag); };
    return await_rpc(engine_, writing_, &context_, begin);
  }

  // Half-closes, so that the server's read returns false.
  // @pre No write is outstanding.
  [[nodiscard]] task<bool> writes_done() {
    auto begin = [s = stream_.get()](void* tag) { s->WritesDone(tag); };
    return await_rpc(engine_, writing_, &context_, begin);
  }

  // Completes with the call's status, once, when the server has sent it and all its messages were
  // read, or the call failed. So read until false first, even after a failed write, or call
  // cancel().
  // @pre start() has completed.
  [[nodiscard]] task<grpc::Status> finish() {
    grpc::Status status;
    auto begin = [s = stream_.get(), &status](void* tag) { s->Finish(&status, tag); };
    co_await await_rpc(engine_, finishing_, &context_, begin);
    co_return status;
  }

  // Operations then complete with false, and finish() with CANCELLED.
  void cancel() { context_.TryCancel(); }

 private:
  engine_context& engine_;
  grpc::ClientContext context_;
  std::unique_ptr<stream_type> stream_;  // allocated inside the call that context_ holds
  bool starting_ = false;
  bool reading_ = false;
  bool writing_ = false;
  bool finishing_ = false;
};

}  // namespace muster::coro
