// Checks are answered at once, watches live in the list until they end.
#include "server/rpc/health_service.hpp"

#include <algorithm>

#include "coro/accept.hpp"
#include "grpc/health/v1/health.grpc.pb.h"
#include "server/rpc/health_watch.hpp"
#include "server/rpc/stream_list.hpp"

namespace muster::server {

struct health_service::state {
  using request = health_watch::request;
  using response = health_watch::response;
  using check_call = coro::server_unary<request, response>;
  using service_type = grpc::health::v1::Health::AsyncService;

  state(coro::grpc_server& server, health_service_options o)
      : options(std::move(o)), calls("health call", server.engine(), options.calls_max) {
    server.add_service(service);
    auto on_check = [this](std::unique_ptr<check_call> call) { return check(std::move(call)); };
    auto on_watch = [this](std::unique_ptr<health_watch::call> call) {
      return calls.serve(std::move(call), look_up);
    };
    coro::accept_unary(server, service, &service_type::RequestCheck, {"health check", 4},
                       calls.tasks(), on_check);
    coro::accept_bidi(server, service, &service_type::RequestWatch, {"health watch", 4},
                      calls.tasks(), on_watch);
  }

  response::ServingStatus status_of(std::string const& name) const {
    auto const& known = options.services;
    if (!name.empty() && std::find(known.begin(), known.end(), name) == known.end())
      return response::SERVICE_UNKNOWN;
    return serving ? response::SERVING : response::NOT_SERVING;
  }

  coro::task<void> check(std::unique_ptr<check_call> call) {
    response answer;
    answer.set_status(status_of(call->request().service()));
    if (answer.status() == response::SERVICE_UNKNOWN) {
      grpc::Status const unknown(grpc::StatusCode::NOT_FOUND,
                                 "there is no service '" + call->request().service() + "'");
      co_await call->finish(unknown);
    } else {
      co_await call->finish(answer, grpc::Status::OK);
    }
  }

  health_service_options const options;
  bool serving = false;
  health_watch::look_up const look_up = [this](std::string const& name) { return status_of(name); };
  service_type service;
  stream_list<health_watch> calls;
};

health_service::health_service(coro::grpc_server& server, health_service_options options)
    : state_(std::make_unique<state>(server, std::move(options))) {}

health_service::~health_service() = default;

void health_service::set_serving(bool serving) {
  if (std::exchange(state_->serving, serving) == serving) return;
  state_->calls.for_each([](health_watch& w) { w.changed(); });
}

coro::task<void> health_service::stop() {
  state_->serving = false;
  return state_->calls.stop();
}

}  // namespace muster::server
