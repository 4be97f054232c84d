// The engine's half: one coroutine that reads, one that writes, and the end.
#include "client/session/session_stream.hpp"

#include <grpcpp/generic/generic_stub.h>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/this_coro.hpp>
#include <utility>

#include "base/check.hpp"
#include "client/failure_text.hpp"
#include "proto/byte_buffer.hpp"
#include "proto/columns.hpp"

namespace muster {
namespace {

using steady = std::chrono::steady_clock;

constexpr std::uint64_t handler_bit = std::uint64_t{1} << 63;

}  // namespace

void session::stream::start() {
  engine_.context().post(
      [self = shared_from_this()] { self->engine_.tasks().spawn("session", self->run(self)); });
}

coro::task<void> session::stream::run(std::shared_ptr<stream> /*self*/) {
  using namespace boost::asio::experimental::awaitable_operators;
  grpc::GenericStub stub(make_channel(options_.server));
  call_.context().set_wait_for_ready(true);
  deadline_.call_at(steady::now() + options_.connect_timeout, [this] {
    violation_ = "no answer from " + options_.server + " within " +
                 std::to_string(options_.connect_timeout.count()) + " ms";
    call_.cancel();
  });
  auto prepare = [&stub](grpc::ClientContext* context, grpc::CompletionQueue* queue) {
    return stub.PrepareCall(context, "/muster.v1.CoordinatorService/Session", queue);
  };
  bool const started = co_await call_.start(prepare);
  if (started) {
    auto reading = read_all();
    auto writing = write_all();
    co_await (std::move(reading) && std::move(writing));
  }
  auto const status = co_await call_.finish();
  deadline_.cancel();
  end(status);
}

// ---- reading ------------------------------------------------------------------------------------

coro::task<void> session::stream::read_all() {
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  // No deadline: before opened there is deadline_, later keepalive sees a dead server.
  for (;;) {
    bool const got = co_await call_.read(read_);
    if (!got) break;
    if (!take_message()) call_.cancel();
  }
  input_ended_ = true;
  pending_.set();
}

bool session::stream::take_message() {
  if (!proto::decode(read_, message_)) {
    violation_ = "the server sent a message that could not be decoded";
    return false;
  }
  auto const& m = message_;
  int const n = m.token_size();
  if (m.value_size() != n || (m.encoding_size() != 0 && m.encoding_size() != n)) {
    violation_ = "the server sent columns of unequal length";
    return false;
  }
  if (m.has_opened()) {
    deadline_.cancel();
    lock held(mutex_);
    id_ = m.opened().session();
    changed_.notify_all();
  }
  try {
    take_outcomes();
  } catch (std::exception const& e) {
    violation_ = std::string("an outcome handler threw: ") + e.what();
  }
  return violation_.empty();
}

void session::stream::take_outcomes() {
  auto const& m = message_;
  int next_failure = 0;
  for (int i = 0; i < m.token_size(); ++i) {
    outcome o;
    o.token = m.token(i);
    o.value = {m.value(i), proto::is_bytes(m.encoding(), i) ? encoding::bytes : encoding::json};
    if (next_failure < m.failure_size() &&
        m.failure(next_failure).position() == static_cast<std::uint32_t>(i)) {
      failure_ = from_wire(m.failure(next_failure++));
      o.failure = &failure_;
    }
    deliver(o);
  }
  lock held(mutex_);
  ++stats_.messages_received;
  stats_.finished += static_cast<std::uint64_t>(m.token_size());
  stats_.failed += static_cast<std::uint64_t>(m.failure_size());
  if (stats_.finished == stats_.scheduled) changed_.notify_all();
}

void session::stream::deliver(outcome const& o) {
  if ((o.token & handler_bit) == 0) {
    if (on_outcome_) on_outcome_(o);
    return;
  }
  auto const index = static_cast<std::uint32_t>(o.token & ~handler_bit);
  outcome_handler done;
  {
    lock held(mutex_);
    if (index >= handlers_.size() || !handlers_[index]) return;
    done = std::exchange(handlers_[index], {});
    free_handlers_.push_back(index);
  }
  done(o);
}

// ---- writing ------------------------------------------------------------------------------------

coro::task<void> session::stream::write_all() {
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  while (!input_ended_) {
    auto const what = take_next();
    if (what == next::message) {
      bool const sent = co_await call_.write(written_);
      if (!sent) co_return;  // the reader learns the same
    } else if (what == next::half_close) {
      co_await call_.writes_done();
      co_return;
    } else {
      co_await pending_.wait();  // no deadline: the user schedules when he likes
    }
  }
}

session::stream::next session::stream::take_next() {
  lock held(mutex_);
  writing_ = !out_.empty();
  if (!writing_) {
    signalled_ = false;
    changed_.notify_all();  // flushed
    return closing_ ? next::half_close : next::nothing;
  }
  bool const was_full = full();
  auto oldest = out_.take_front();
  ++stats_.messages_sent;
  if (was_full) changed_.notify_all();
  held.unlock();
  check(proto::encode(oldest->message, written_), "a message is within its limits");
  held.lock();
  out_.recycle(std::move(oldest));
  return next::message;
}

void session::stream::end(grpc::Status const& status) {
  std::vector<outcome_handler> left;
  {
    lock held(mutex_);
    ending_ = true;
    if (!violation_.empty())
      reason_ = violation_;
    else if (!status.ok())
      reason_ =
          status.error_message().empty() ? "the stream was cancelled" : status.error_message();
    else if (!closing_)
      reason_ = "the server ended the session";
    left.swap(handlers_);
    free_handlers_.clear();
  }
  failure_ = {failure_kind::dependency_lost,
              "muster::session_error",
              "the session has ended: " + reason_,
              {},
              {},
              0};
  for (auto const& done : left)
    if (done) done({handler_bit, {}, &failure_});
  lock held(mutex_);
  ended_ = true;
  changed_.notify_all();
}

}  // namespace muster
