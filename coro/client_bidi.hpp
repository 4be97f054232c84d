// An outgoing call that streams in both directions. Its coroutine owns it and uses it only on the
// engine thread. Request and Response are Protobuf messages or grpc::ByteBuffer.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/async_stream.h>

#include <memory>
#include <type_traits>
#include <utility>

#include "coro/rpc_tag.hpp"

namespace muster::coro {

// At most one read and one write can be outstanding. Cancelling any awaitable with `terminal`
// cancels the whole call. The awaitable still completes only when gRPC has returned the operation.
template <class Request, class Response>
class client_bidi {
 public:
  using stream_type = grpc::ClientAsyncReaderWriter<Request, Response>;

  explicit client_bidi(engine_context& engine) : engine_(engine) {}
  // Cancels an unfinished call.
  // @pre No operation is outstanding.
  ~client_bidi() {
    check(!starting_ && !reading_ && !writing_ && !finishing_,
          "a call must not be destroyed while its operations are outstanding");
  }
  client_bidi(client_bidi const&) = delete;

  [[nodiscard]] grpc::ClientContext& context() noexcept { return context_; }

  // Starts the call. Must be called once. Completes with true when the call was sent, or with false
  // on failure; finish() then returns the reason.
  // @param prepare Called immediately as `prepare(grpc::ClientContext*, grpc::CompletionQueue*)` to
  //   create the stream.
  template <class Prepare>
  requires std::is_invocable_r_v<std::unique_ptr<stream_type>, Prepare&, grpc::ClientContext*,
                                 grpc::CompletionQueue*> [[nodiscard]] task<bool>
  start(Prepare prepare) {
    check(stream_ == nullptr, "a call must be started only once");
    stream_ = prepare(&context_, &engine_.queue());
    auto begin = [stream = stream_.get()](void* tag) { stream->StartCall(tag); };
    return await_rpc(engine_, starting_, &context_, begin);
  }

  // Completes with false if the call has ended; call finish() afterwards.
  // @pre The call was started. `response` outlives the read.
  [[nodiscard]] task<bool> read(Response& response) {
    auto begin = [s = stream_.get(), &response](void* tag) { s->Read(&response, tag); };
    return await_rpc(engine_, reading_, &context_, begin);
  }

  // Encodes `request` when the task is first awaited; `request` can change afterwards. Completes
  // with false if the call has ended.
  // @pre The call was started, and writes_done() has not been called.
  [[nodiscard]] task<bool> write(Request const& request) {
    auto begin = [s = stream_.get(), &request](void* tag) { s->Write(request, tag); };
    return await_rpc(engine_, writing_, &context_, begin);
  }

  // Half-closes the call. @pre No write is outstanding.
  [[nodiscard]] task<bool> writes_done() {
    auto begin = [s = stream_.get()](void* tag) { s->WritesDone(tag); };
    return await_rpc(engine_, writing_, &context_, begin);
  }

  // Returns the call's status once the call has failed, or once the server has sent the status and
  // all messages were read. Before calling finish(), read until read() returns false, even after a
  // failed write, or call cancel(). Must be called once.
  // @pre start() has completed.
  [[nodiscard]] task<grpc::Status> finish() {
    grpc::Status status;
    auto begin = [s = stream_.get(), &status](void* tag) { s->Finish(&status, tag); };
    co_await await_rpc(engine_, finishing_, &context_, begin);
    co_return status;
  }

  // Makes operations complete with false, and finish() return CANCELLED.
  void cancel() { context_.TryCancel(); }

 private:
  engine_context& engine_;
  grpc::ClientContext context_;
  std::unique_ptr<stream_type> stream_;  // allocated in the arena of context_'s call
  bool starting_ = false;
  bool reading_ = false;
  bool writing_ = false;
  bool finishing_ = false;
};

}  // namespace muster::coro
