#include "coro/server_call.hpp"

#include <utility>

#include "coro/grpc_server.hpp"

namespace muster::coro {

server_call_state::server_call_state(grpc_server& server)
    : engine(server.engine()), server_(server) {
  // Requests the notification for every call; otherwise gRPC consumes the event inside the queue.
  // ServerContext::IsCancelled() must not be called on an asynchronous queue.
  context.AsyncNotifyWhenDone(static_cast<rpc_tag*>(&done_tag_));
  server_.call_created();
}

server_call_state::~server_call_state() {
  if (!credential.empty()) server_.remove_admitted(*this);
  if (!peer_.empty()) server_.call_ended(peer_);
  server_.call_destroyed();
}

void server_call_state::accepted() {
  done_expected_ = true;
  arrived_at_ = std::chrono::steady_clock::now();
  peer_ = context.peer();
  engine.op_started();
}

void server_call_state::abandon(std::unique_ptr<server_call_state> state,
                                grpc::Status const& otherwise) {
  server_call_state* s = state.release();
  s->abandoned_ = true;
  s->on_cancel.reset();
  if (!std::exchange(s->finish_started, true)) {
    s->finishing = true;
    s->engine.op_started();
    s->finish_with(otherwise, static_cast<rpc_tag*>(&s->last_finish_tag_));
  }
  s->free_if_done();
}

void server_call_state::free_if_done() {
  if (abandoned_ && !finishing && !done_expected_) delete this;
}

void server_call_state::through(bool) {
  engine.op_returned();
  cancelled = context.IsCancelled();
  if (cancelled && server_.is_soon(arrived_at_)) server_.call_reset(peer_);
  auto hook = std::exchange(on_cancel, function());
  if (cancelled && hook) hook();
  done_expected_ = false;  // set last, because the hook may destroy the handle
  free_if_done();
}

void server_call_state::last_finished(bool) {
  engine.op_returned();
  finishing = false;
  free_if_done();
}

}  // namespace muster::coro
