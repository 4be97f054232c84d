// One outgoing call whose both sides stream, owned by the coroutine that uses it. Request and
// Response are Protobuf messages or grpc::ByteBuffer. Engine thread only.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/async_stream.h>

#include <memory>
#include <type_traits>
#include <utility>

#include "coro/rpc_tag.hpp"

namespace muster::coro {

// One read and one write may be outstanding at once. Cancellation of all awaitables: `terminal`
// cancels the whole call; the task completes when gRPC has returned the operation.
template <class Request, class Response>
class client_bidi {
 public:
  using stream_type = grpc::ClientAsyncReaderWriter<Request, Response>;

  explicit client_bidi(engine_context& engine) : engine_(engine) {}
  // REQUIRES: nothing is outstanding. A call that was not finished is cancelled.
  ~client_bidi() {
    check(!starting_ && !reading_ && !writing_ && !finishing_,
          "a call dies after all its operations came back");
  }
  client_bidi(client_bidi const&) = delete;

  // Metadata, deadline and wait_for_ready are set here before start().
  [[nodiscard]] grpc::ClientContext& context() noexcept { return context_; }

  // Completion: true when the call was sent; false when it is dead, and finish() says why. Once.
  // `prepare(grpc::ClientContext*, grpc::CompletionQueue*)` makes the stream, at once.
  template <class Prepare>
  requires std::is_invocable_r_v<std::unique_ptr<stream_type>, Prepare&, grpc::ClientContext*,
                                 grpc::CompletionQueue*> [[nodiscard]] task<bool>
  start(Prepare prepare) {
    check(stream_ == nullptr, "a call is started once");
    stream_ = prepare(&context_, &engine_.queue());
    auto begin = [stream = stream_.get()](void* tag) { stream->StartCall(tag); };
    return await_rpc(engine_, starting_, &context_, begin);
  }

  // Completion: false when the server ended the call or is gone; then finish(). REQUIRES: started;
  // `response` outlives the read.
  [[nodiscard]] task<bool> read(Response& response) {
    auto begin = [s = stream_.get(), &response](void* tag) { s->Read(&response, tag); };
    return await_rpc(engine_, reading_, &context_, begin);
  }

  // Completion: false when the call is dead. `request` is encoded when the task is first awaited
  // and may be changed afterwards. REQUIRES: started, writes_done() not called.
  [[nodiscard]] task<bool> write(Request const& request) {
    auto begin = [s = stream_.get(), &request](void* tag) { s->Write(request, tag); };
    return await_rpc(engine_, writing_, &context_, begin);
  }

  // Half-closes: the server's read gives false. REQUIRES: no write is outstanding.
  [[nodiscard]] task<bool> writes_done() {
    auto begin = [s = stream_.get()](void* tag) { s->WritesDone(tag); };
    return await_rpc(engine_, writing_, &context_, begin);
  }

  // Completion: the call's status, when the server sent it and everything that it wrote before was
  // read, or the call died. So read until false first, also after a write that failed, or cancel().
  // Once, after start() gave whichever result.
  [[nodiscard]] task<grpc::Status> finish() {
    grpc::Status status;
    auto begin = [s = stream_.get(), &status](void* tag) { s->Finish(&status, tag); };
    co_await await_rpc(engine_, finishing_, &context_, begin);
    co_return status;
  }

  // Ends the call: operations complete with false, finish() gives CANCELLED.
  void cancel() { context_.TryCancel(); }

 private:
  engine_context& engine_;
  grpc::ClientContext context_;
  std::unique_ptr<stream_type> stream_;  // lives inside the call that context_ holds
  bool starting_ = false;
  bool reading_ = false;
  bool writing_ = false;
  bool finishing_ = false;
};

}  // namespace muster::coro
