// The stream's life: dialling, the two loops, leaving, the end. What messages mean is in
// attachment_messages.cpp.
#include "client/worker/attachment.hpp"

#include <grpcpp/generic/generic_stub.h>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/this_coro.hpp>
#include <utility>

#include "base/check.hpp"
#include "client/log.hpp"
#include "proto/byte_buffer.hpp"

namespace muster {
namespace {

using steady = std::chrono::steady_clock;

constexpr auto last_words_timeout = std::chrono::seconds(5);

}  // namespace

attachment::attachment(surroundings s, std::string server)
    : around_(s),
      server_(std::move(server)),
      call_(s.engine.context()),
      held_(s.held),
      pending_(s.engine.context()),
      deadline_(s.engine.context()),
      beats_(s.engine.context()),
      progress_(s.engine.context()) {}

coro::task<attachment_end> attachment::run() {
  using namespace boost::asio::experimental::awaitable_operators;
  grpc::GenericStub stub(make_channel(server_));
  deadline_.call_at(steady::now() + around_.options.connect_timeout, [this] { call_.cancel(); });
  auto prepare = [&stub](grpc::ClientContext* context, grpc::CompletionQueue* queue) {
    return stub.PrepareCall(context, "/muster.v1.WorkerService/Attach", queue);
  };
  bool const started = co_await call_.start(prepare);
  around_.reports.open();
  if (started) {
    say_hello();
    auto reading = read_all();
    auto writing = write_all();
    co_await (std::move(reading) && std::move(writing));
  }
  auto const status = co_await call_.finish();
  held_.drop_unstarted();
  co_return ending(status);
}

attachment_end attachment::ending(grpc::Status const& status) {
  attachment_end end;
  end.welcomed = identity_ != nullptr;
  end.left = leaving_ && status.ok();
  auto const& trailers = call_.context().GetServerTrailingMetadata();
  end.final = trailers.find("muster-final") != trailers.end() ||
              (!end.welcomed && status.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  if (!violation_.empty())
    end.reason = "the server broke the protocol: " + violation_;
  else if (!status.ok())
    end.reason = status.error_message();
  else
    end.reason = end.left ? "left" : "the server ended the stream";
  end.hold = hold_;
  if (end.welcomed) end.lived = steady::now() - welcomed_at_;
  return end;
}

// ---- reading ------------------------------------------------------------------------------------

coro::task<void> attachment::read_all() {
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  // No deadline here: before welcome there is deadline_, later keepalive sees a dead server.
  for (;;) {
    bool const got = co_await call_.read(read_);
    if (!got) break;
    if (!proto::decode(read_, message_)) violation_ = "a message could not be decoded";
    if (violation_.empty() && take_message(message_)) continue;
    call_.cancel();
  }
  input_ended_ = true;
  beats_.cancel();
  progress_.cancel();
  pending_.set();
}

// ---- leaving ------------------------------------------------------------------------------------

void attachment::leave() {
  if (std::exchange(leave_asked_, true)) return;
  if (!identity_ && !greeted_) return call_.cancel();  // nobody knows of us yet
  out_.tail().set_drain(true);
  pending_.set();
  begin_leaving();
}

void attachment::begin_leaving() {
  if (deadline_.pending()) return;
  deadline_.call_at(steady::now() + around_.options.drain_timeout, [this] {
    log(log_level::warning, std::to_string(held_.size()) +
                                " closures are given back: not done "
                                "within the drain time-out");
    leaving_ = true;
    held_.drop_all();
    pending_.set();
  });
}

// ---- writing ------------------------------------------------------------------------------------

coro::task<void> attachment::write_all() {
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  while (!input_ended_) {
    if (!out_.empty()) {
      encode_next();
      written_at_ = steady::now();
      greeted_ = true;  // it may be there before the write is known to be done
      bool const sent = co_await call_.write(written_);
      if (!sent) co_return;  // the reader learns the same
    } else if (leaving_ && held_.empty()) {
      deadline_.call_at(steady::now() + last_words_timeout, [this] { call_.cancel(); });
      co_await call_.writes_done();
      co_return;
    } else {
      co_await pending_.wait();  // no deadline: beats keep the stream alive
    }
  }
}

void attachment::encode_next() {
  auto next = out_.take_front();
  check(proto::encode(next->message, written_), "a message is within its limits");
  around_.reports.sent(next->message);
  out_.recycle(std::move(next));
}

void attachment::beat() {
  auto const due = written_at_ + beat_interval_;
  if (steady::now() >= due) {
    out_.tail();  // an empty message
    pending_.set();
  }
  beats_.call_at(std::max(due, steady::now() + beat_interval_ / 2), [this] { beat(); });
}

}  // namespace muster
