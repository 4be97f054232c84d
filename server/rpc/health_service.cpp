#include "server/rpc/health_service.hpp"

#include <algorithm>
#include <boost/asio/this_coro.hpp>

#include "coro/event.hpp"
#include "grpc/health/v1/health.grpc.pb.h"
#include "server/rpc/stream_list.hpp"

namespace muster::server {
namespace {

constexpr auto patience = std::chrono::seconds(5);

using request = grpc::health::v1::HealthCheckRequest;
using response = grpc::health::v1::HealthCheckResponse;
using look_up = std::function<response::ServingStatus(std::string const& service)>;

// A caller that watches the server's health. It receives the status whenever it differs from the
// last status sent, so a slow reader needs no queue.
class health_watch {
 public:
  using call = coro::server_bidi<request, response>;

  health_watch(call& c, look_up const& status)
      : call_(c), status_(status), changed_(c.engine()), deadline_(c.engine()) {}
  health_watch(health_watch const&) = delete;

  /// Completes when the caller has disconnected or the final status was sent. Cancelling with
  /// `terminal` cancels the call.
  coro::task<void> run();

  void changed() { changed_.set(); }
  void shut_down() {
    stopping_ = true;
    changed_.set();
    cancel_soon();
  }

 private:
  void cancel_soon() {
    deadline_.call_at(coro::timer::clock::now() + patience, [this] { call_.cancel(); });
  }

  call& call_;
  look_up const& status_;
  request request_;
  response response_;
  coro::event changed_;
  coro::timer deadline_;
  bool disconnected_ = false;
  bool stopping_ = false;
};

coro::task<void> health_watch::run() {
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  call_.on_cancel([this] {
    disconnected_ = true;
    changed_.set();
  });
  cancel_soon();
  bool const asked = co_await call_.read(request_);
  if (asked && !stopping_) deadline_.cancel();
  bool told = false;
  while (asked && !disconnected_ && !stopping_) {
    auto const now = status_(request_.service());
    if (told && now == response_.status()) {
      co_await changed_.wait();  // no deadline, because a watch has no time limit
      continue;
    }
    response_.set_status(now);
    told = co_await call_.write(response_);
    if (!told) break;
  }
  cancel_soon();
  auto const status =
      stopping_ ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "the server is shutting down")
      : asked   ? grpc::Status::CANCELLED
                : grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "the request is missing");
  co_await call_.finish(status);
}

class health_of_all final : public health_service {
 public:
  health_of_all(coro::grpc_server& server, health_service_options o)
      : options_(std::move(o)), calls_("health call", server.engine(), options_.calls_max) {
    server.add_service(service_);
    auto on_check = [this](std::unique_ptr<check_call> call) { return check(std::move(call)); };
    coro::accept_unary(server, service_, &service_type::RequestCheck, {"health check", 4},
                       calls_.tasks(), on_check);
    calls_.accept(server, service_, &service_type::RequestWatch, {"health watch", 4}, look_up_);
  }

  void set_serving(bool serving) override {
    if (std::exchange(serving_, serving) == serving) return;
    calls_.for_each([](health_watch& w) { w.changed(); });
  }

  coro::task<void> stop() override {
    serving_ = false;
    return calls_.stop();
  }

 private:
  using check_call = coro::server_unary<request, response>;
  using service_type = grpc::health::v1::Health::AsyncService;

  response::ServingStatus status_of(std::string const& name) const {
    auto const& known = options_.services;
    if (!name.empty() && std::find(known.begin(), known.end(), name) == known.end())
      return response::SERVICE_UNKNOWN;
    return serving_ ? response::SERVING : response::NOT_SERVING;
  }

  coro::task<void> check(std::unique_ptr<check_call> call) {
    response answer;
    answer.set_status(status_of(call->request().service()));
    if (answer.status() == response::SERVICE_UNKNOWN) {
      grpc::Status const unknown(grpc::StatusCode::NOT_FOUND,
                                 "there is no service '" + call->request().service() + "'");
      co_await call->finish(unknown);
    } else {
      co_await call->finish(answer);
    }
  }

  health_service_options const options_;
  bool serving_ = false;
  look_up const look_up_ = [this](std::string const& name) { return status_of(name); };
  service_type service_;
  stream_list<health_watch> calls_;
};

}  // namespace

std::unique_ptr<health_service> serve_health(coro::grpc_server& server,
                                             health_service_options options) {
  return std::make_unique<health_of_all>(server, std::move(options));
}

}  // namespace muster::server
