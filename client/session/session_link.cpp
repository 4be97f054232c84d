#include "client/session/session_link.hpp"

#include <boost/asio/this_coro.hpp>
#include <random>

#include "client/link/server_list.hpp"
#include "proto/byte_buffer.hpp"

namespace muster::detail {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds end_limit{5'000};

// Returns true for a broken connection or a restarting server. Any other error would occur again.
bool is_transient(grpc::StatusCode code) {
  using enum grpc::StatusCode;
  return code == UNAVAILABLE || code == CANCELLED || code == INTERNAL || code == UNKNOWN ||
         code == DEADLINE_EXCEEDED;
}

}  // namespace

session_link::session_link(client_engine& engine, std::shared_ptr<client_session> session)
    : engine_(engine),
      session_(std::move(session)),
      deadline_(engine.context()),
      pause_(engine.context()),
      backoff_(milliseconds(50), milliseconds(2'000), std::random_device{}()) {}

void session_link::start() {
  engine_.context().post(
      [self = shared_from_this()] { self->engine_.tasks().spawn("session", self->run(self)); });
}

void session_link::wake() {
  if (!engine_.context().running_in_this_thread())
    engine_.context().post([self = shared_from_this()] { self->wake(); });
  else if (stream_)
    stream_->wake();
}

void session_link::close() {
  engine_.context().post([self = shared_from_this()] {
    if (!std::exchange(self->ending_, true)) {
      self->give_up_in(self->was_open_ ? end_limit : milliseconds(0));
      self->pause_.cancel();
    }
    self->wake();
  });
}

void session_link::cancel() {
  engine_.context().post([self = shared_from_this()] {
    if (self->stream_) self->stream_->cancel();
  });
}

void session_link::give_up_in(milliseconds t) {
  given_ = t;
  deadline_.call_at(std::chrono::steady_clock::now() + t, [this] { give_up(); });
}

void session_link::give_up() {
  gave_up_ = true;
  if (stream_) stream_->cancel();
  pause_.cancel();
}

coro::task<void> session_link::run(std::shared_ptr<session_link> /*self*/) {
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  give_up_in(session_->settings().connect_timeout);
  auto const addresses = split_servers(session_->settings().server).size();
  std::size_t in_vain = 0;
  std::optional<std::string> reason;
  for (;;) {
    auto const status = co_await serve_one_stream();
    reason = final_reason(status);
    if (reason) break;
    if (was_open_) give_up_in(session_->now().grace);
    in_vain = was_open_ ? 0 : in_vain + 1;
    was_open_ = false;
    // Pauses once per round of addresses, because one server may just have become the leader.
    if (in_vain % addresses == 0) co_await pause_.wait_for(backoff_.next());
    if (!gave_up_ && !session_->now().closing) continue;
    reason = final_reason(status);
    break;
  }
  deadline_.cancel();
  session_->ended(*reason);
}

std::optional<std::string> session_link::final_reason(grpc::Status const& status) const {
  auto const& server = session_->settings().server;
  auto const session = session_->now();
  auto const given = std::to_string(given_.count()) + " ms";
  if (!violation_.empty()) return violation_;
  if (gave_up_)
    return session.opened ? "the connection to " + server + " was lost for " + given +
                                ", longer than the session's grace period"
                          : "no answer from " + server + " within " + given;
  if (status.ok()) return session.closing ? std::string() : "the server ended the session";
  // Another server can be tried, because no call has been sent yet.
  bool const others = is_list(server) && !session.opened;
  if ((session_->settings().resumable || others) && !session.closing &&
      is_transient(status.error_code()))
    return {};
  return status.error_message().empty() ? "the stream was cancelled" : status.error_message();
}

coro::task<grpc::Status> session_link::serve_one_stream() {
  stream_side& side = *this;
  auto const& settings = session_->settings();
  stream_ = std::make_unique<server_stream>(engine_, settings.server, settings.tls, settings.token,
                                            "/muster.v1.CoordinatorService/Session", side);
  stream_->context().set_wait_for_ready(true);  // deadline_ cancels a call that waits too long
  auto const status = co_await stream_->run();
  violation_ = stream_->violation();
  stream_.reset();
  co_return status;
}

std::string session_link::take(grpc::ByteBuffer& message) {
  if (!proto::decode(message, message_))
    return "the server sent a message that could not be decoded";
  auto wrong = session_->take(message_);
  if (wrong.empty() && message_.has_opened()) {
    was_open_ = true;
    backoff_.reset();
    if (!ending_) deadline_.cancel();
  }
  return wrong;
}

}  // namespace muster::detail
