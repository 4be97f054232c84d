// The loop of one watch: tell the status, wait for a change.
#include "server/rpc/health_watch.hpp"

#include <boost/asio/this_coro.hpp>

namespace muster::server {
namespace {

constexpr auto answer_patience = std::chrono::seconds(5);

}  // namespace

health_watch::health_watch(call& c, look_up status)
    : call_(c), status_(std::move(status)), changed_(c.engine()), deadline_(c.engine()) {}

coro::task<void> health_watch::run() {
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  call_.on_cancel([this] {
    gone_ = true;
    changed_.set();
  });
  deadline_.call_at(coro::timer::clock::now() + answer_patience, [this] { call_.cancel(); });
  bool const asked = co_await call_.read(request_);
  if (asked && !stopping_) deadline_.cancel();
  bool told = false;
  while (asked && !gone_ && !stopping_) {
    auto const now = status_(request_.service());
    if (told && now == response_.status()) {
      co_await changed_.wait();  // no deadline: a watch lasts as long as the caller likes
      continue;
    }
    response_.set_status(now);
    told = co_await call_.write(response_);
    if (!told) break;
  }
  deadline_.call_at(coro::timer::clock::now() + answer_patience, [this] { call_.cancel(); });
  auto const status =
      stopping_ ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "the server is shutting down")
      : asked   ? grpc::Status::CANCELLED
                : grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "no request came");
  co_await call_.finish(status);
}

void health_watch::shut_down() {
  stopping_ = true;
  changed_.set();
  deadline_.call_at(coro::timer::clock::now() + answer_patience, [this] { call_.cancel(); });
}

}  // namespace muster::server
