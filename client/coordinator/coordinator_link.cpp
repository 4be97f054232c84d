#include "client/coordinator/coordinator_link.hpp"

#include <grpcpp/generic/generic_stub.h>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/this_coro.hpp>
#include <random>

#include "proto/byte_buffer.hpp"

namespace muster::detail {
namespace {

using steady = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds end_limit{5'000};

}  // namespace

coordinator_link::coordinator_link(client_engine& engine)
    : engine_(engine),
      pending_(engine.context()),
      deadline_(engine.context()),
      pause_(engine.context()),
      backoff_(milliseconds(50), milliseconds(2'000), std::random_device{}()) {}

void coordinator_link::start(std::shared_ptr<coordinator_session> session) {
  session_ = std::move(session);
  engine_.context().post(
      [self = shared_from_this()] { self->engine_.tasks().spawn("coordinator", self->run(self)); });
}

void coordinator_link::wake() {
  engine_.context().post([self = shared_from_this()] { self->look(); });
}

// The end of a session has a deadline of its own.
void coordinator_link::look() {
  if (session_->closing() && !std::exchange(ending_, true)) {
    give_up_in(was_open_ ? end_limit : milliseconds(0));
    pause_.cancel();
  }
  pending_.set();
}

void coordinator_link::give_up_in(milliseconds t) {
  given_ = t;
  deadline_.call_at(steady::now() + t, [this] { give_up(); });
}

void coordinator_link::give_up() {
  gave_up_ = true;
  if (call_) call_->cancel();
  pause_.cancel();
}

coro::task<void> coordinator_link::run(std::shared_ptr<coordinator_link> /*self*/) {
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  give_up_in(session_->options().connect_timeout);
  std::string reason;
  for (;;) {
    auto const status = co_await serve_one_stream();
    reason = final_reason(status);
    if (!reason.empty() || session_->closing()) break;
    if (was_open_) give_up_in(session_->grace());
    was_open_ = false;
    bool const waited = co_await pause_.wait_for(backoff_.next());
    static_cast<void>(waited);
    if (gave_up_ || session_->closing()) {
      reason = final_reason(status);
      break;
    }
  }
  deadline_.cancel();
  session_->ended(reason);
}

std::string coordinator_link::final_reason(grpc::Status const& status) const {
  auto const& server = session_->options().server;
  if (!violation_.empty()) return violation_;
  if (gave_up_)
    return session_->opened()
               ? "the connection to " + server + " was lost for " + std::to_string(given_.count()) +
                     " ms, longer than the session's grace"
               : "no answer from " + server + " within " + std::to_string(given_.count()) + " ms";
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::CANCELLED:
    case grpc::StatusCode::INTERNAL:
    case grpc::StatusCode::UNKNOWN:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return {};
    case grpc::StatusCode::OK:
      return "the server ended the session";
    default:
      return status.error_message();
  }
}

coro::task<grpc::Status> coordinator_link::serve_one_stream() {
  using namespace boost::asio::experimental::awaitable_operators;
  grpc::GenericStub stub(make_channel(session_->options().server));
  call_ = std::make_unique<call>(engine_.context());
  call_->context().set_wait_for_ready(true);  // deadline_ cancels it
  input_ended_ = false;
  auto prepare = [&stub](grpc::ClientContext* context, grpc::CompletionQueue* queue) {
    return stub.PrepareCall(context, "/muster.v1.CoordinatorService/Session", queue);
  };
  bool const started = co_await call_->start(prepare);
  if (started) {
    session_->connected();
    auto reading = read_all();
    auto writing = write_all();
    co_await (std::move(reading) && std::move(writing));
  }
  auto const status = co_await call_->finish();
  call_.reset();
  co_return status;
}

coro::task<void> coordinator_link::read_all() {
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  // No deadline: before opened there is deadline_, later keepalive sees a dead server.
  for (;;) {
    bool const got = co_await call_->read(read_);
    if (!got) break;
    if (!proto::decode(read_, message_))
      violation_ = "the server sent a message that could not be decoded";
    else
      violation_ = session_->take(message_);
    if (!violation_.empty()) call_->cancel();
    if (!message_.has_opened()) continue;
    was_open_ = true;
    backoff_.reset();
    if (!ending_) deadline_.cancel();
  }
  input_ended_ = true;
  pending_.set();
}

coro::task<void> coordinator_link::write_all() {
  using next = coordinator_session::next;
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  while (!input_ended_) {
    auto const what = session_->next_message(written_);
    if (what == next::message) {
      bool const sent = co_await call_->write(written_);
      if (!sent) co_return;  // the reader learns the same
    } else if (what == next::half_close) {
      bool const sent = co_await call_->writes_done();
      static_cast<void>(sent);
      co_return;
    } else {
      co_await pending_.wait();  // no deadline: the user schedules when he likes
    }
  }
}

}  // namespace muster::detail
