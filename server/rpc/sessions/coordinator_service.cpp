#include "server/rpc/sessions/coordinator_service.hpp"

#include "coro/accept.hpp"
#include "muster/v1/coordinator.grpc.pb.h"
#include "server/rpc/sessions/coordinator_calls.hpp"
#include "server/rpc/sessions/session_stream.hpp"
#include "server/rpc/stream_list.hpp"

namespace muster::server {

struct coordinator_service::state {
  template <class Base>
  using values =
      v1::CoordinatorService::WithAsyncMethod_Fetch<v1::CoordinatorService::WithAsyncMethod_Release<
          v1::CoordinatorService::WithAsyncMethod_Cancel<Base>>>;
  template <class Base>
  using per_worker = v1::CoordinatorService::WithAsyncMethod_CreatePerWorkerValue<
      v1::CoordinatorService::WithAsyncMethod_GetPerWorkerValue<
          v1::CoordinatorService::WithAsyncMethod_ReleasePerWorkerValue<Base>>>;
  template <class Base>
  using sessions = v1::CoordinatorService::WithAsyncMethod_OpenSession<
      v1::CoordinatorService::WithAsyncMethod_CloseSession<
          v1::CoordinatorService::WithAsyncMethod_Schedule<
              v1::CoordinatorService::WithAsyncMethod_Join<
                  v1::CoordinatorService::WithAsyncMethod_Done<Base>>>>>;
  using method = v1::CoordinatorService::WithRawMethod_Session<
      sessions<per_worker<values<v1::CoordinatorService::Service>>>>;

  state(server::hub& h, coro::grpc_server& server, coordinator_service_options o)
      : hub(h),
        options(std::move(o)),
        streams("session stream", server.engine(), options.streams_max),
        calls(hub, server.engine(), options) {
    server.add_service(service);
    auto serve_call = [this](std::unique_ptr<session_stream::call> call) {
      return serve(std::move(call));
    };
    coro::accept_bidi(server, service, &method::RequestSession, {"session stream", 16},
                      streams.tasks(), serve_call);
    calls.accept(server, service);
  }

  coro::task<void> stop() {
    co_await calls.stop();
    co_await streams.stop();
  }

  coro::task<void> serve(std::unique_ptr<session_stream::call> call) {
    session_stream stream(hub, *call, options);
    if (streams.stopping()) stream.shut_down();
    auto const listed = streams.add(stream);
    co_await stream.run();
  }

  server::hub& hub;
  coordinator_service_options const options;
  method service;
  stream_list<session_stream> streams;
  coordinator_calls calls;
};

coordinator_service::coordinator_service(hub& hub, coro::grpc_server& server,
                                         coordinator_service_options options)
    : state_(std::make_unique<state>(hub, server, std::move(options))) {}

coordinator_service::~coordinator_service() = default;

coro::task<void> coordinator_service::stop() {
  return state_->stop();
}

std::size_t coordinator_service::streams() const {
  return state_->streams.size();
}

}  // namespace muster::server
