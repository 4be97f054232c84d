#include "client/attachment.hpp"

#include <grpcpp/generic/generic_stub.h>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/this_coro.hpp>
#include <utility>

#include "client/failure_text.hpp"
#include "client/log.hpp"
#include "coro/check.hpp"
#include "proto/byte_buffer.hpp"
#include "proto/columns.hpp"

namespace muster {
namespace {

using steady = std::chrono::steady_clock;

constexpr auto last_words_timeout = std::chrono::seconds(5);

}  // namespace

attachment::attachment(surroundings s, std::uint64_t id, std::string server)
    : around_(s),
      id_(id),
      server_(std::move(server)),
      call_(s.engine.context()),
      pending_(s.engine.context()),
      deadline_(s.engine.context()),
      beats_(s.engine.context()) {}

coro::task<attachment_end> attachment::run() {
  using namespace boost::asio::experimental::awaitable_operators;
  grpc::GenericStub stub(make_channel(server_));
  deadline_.call_at(steady::now() + around_.options.connect_timeout, [this] { call_.cancel(); });
  auto prepare = [&stub](grpc::ClientContext* context, grpc::CompletionQueue* queue) {
    return stub.PrepareCall(context, "/muster.v1.WorkerService/Attach", queue);
  };
  bool const started = co_await call_.start(prepare);
  if (started) {
    *out_.tail().mutable_hello() = around_.hello;
    auto reading = read_all();
    auto writing = write_all();
    co_await (std::move(reading) && std::move(writing));
  }
  auto const status = co_await call_.finish();
  held_.drop_all();
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
  pending_.set();
}

bool attachment::take_message(v1::ServerMessage& m) {
  if (m.has_welcome()) take_welcome(m.welcome());
  if (!identity_) violation_ = "something came before welcome";
  if (!violation_.empty() || !take_closures(m)) return false;
  take_stops(m);
  if (m.drain()) {
    leaving_ = true;
    begin_leaving();
    pending_.set();
  }
  return true;
}

void attachment::take_welcome(v1::Welcome const& w) {
  worker_identity me;
  me.job = w.job();
  me.index = w.index();
  me.slots = around_.hello.slots();
  me.credits = w.credits();
  me.incarnation = around_.hello.incarnation();
  me.server = server_;
  me.server_version = w.server_version();
  identity_ = std::make_shared<worker_identity const>(std::move(me));
  welcomed_at_ = steady::now();
  if (!leave_asked_) deadline_.cancel();
  beat_interval_ = std::chrono::milliseconds(std::max(1u, w.heartbeat_interval_ms()));
  beat();
  log(log_level::info, "attached to " + server_ + " as " + identity_->job + ":" +
                           std::to_string(identity_->index));
}

bool attachment::take_closures(v1::ServerMessage& m) {
  int const n = m.closure_size();
  if (m.attempt_size() != n || m.function_size() != n || m.args_size() != n ||
      (m.encoding_size() != 0 && m.encoding_size() != n))
    violation_ = "columns of unequal length";
  if (held_.size() + static_cast<std::size_t>(n) > identity_->credits)
    violation_ = "more closures than credits";
  if (!violation_.empty()) return false;
  for (int i = 0; i < n; ++i) {
    auto const encoding = proto::is_bytes(m.encoding(), i) ? encoding::bytes : encoding::json;
    if (m.function(i) >= around_.functions.size()) {
      failure const why{failure_kind::stale_handle, {}, "no function has number " +
                        std::to_string(m.function(i)), {}, {}, 0};
      answer(m.closure(i), m.attempt(i), why);
      continue;
    }
    auto const& f = around_.functions[m.function(i)];
    if (f.quick) {
      run_quick(f, m.closure(i), m.attempt(i), {m.args(i), encoding});
      continue;
    }
    auto j = std::make_shared<job>();
    j->stream = id_;
    j->closure = m.closure(i);
    j->attempt = m.attempt(i);
    j->function = &f;
    j->worker = identity_;
    j->args = {std::move(*m.mutable_args(i)), encoding};
    if (held_.add(j)) batch_.push_back(std::move(j));
  }
  if (!batch_.empty()) around_.threads.push(batch_);
  batch_.clear();
  return true;
}

void attachment::run_quick(registered_function const& f, std::uint64_t closure,
                           std::uint32_t attempt, value_view args) {
  context c(*identity_, closure, attempt, {});
  quick_result_.bytes.clear();
  quick_result_.encoding = encoding::json;
  if (call_function(f, c, args, quick_result_, quick_failure_))
    answer(closure, attempt, quick_result_);
  else
    answer(closure, attempt, quick_failure_);
}

void attachment::take_stops(v1::ServerMessage const& m) {
  for (int i = 0; i < std::min(m.stop_closure_size(), m.stop_attempt_size()); ++i) {
    if (held_.stop(m.stop_closure(i), m.stop_attempt(i)) != held_closures::stopped::dropped)
      continue;
    failure const why{failure_kind::cancelled, {}, "cancelled before it started", {}, {}, 0};
    answer(m.stop_closure(i), m.stop_attempt(i), why);
  }
}

void attachment::take(job& finished) {
  if (finished.stream != id_ || !held_.remove(finished)) return;
  if (finished.ok)
    answer(finished.closure, finished.attempt, finished.result);
  else
    answer(finished.closure, finished.attempt, finished.why);
  pending_.set();  // the last answer may be what leaving waited for
}

// ---- leaving ------------------------------------------------------------------------------------

void attachment::leave() {
  if (std::exchange(leave_asked_, true)) return;
  if (!identity_) return call_.cancel();
  out_.tail().set_drain(true);
  pending_.set();
  begin_leaving();
}

void attachment::begin_leaving() {
  if (deadline_.pending()) return;
  deadline_.call_at(steady::now() + around_.options.drain_timeout, [this] {
    log(log_level::warning, std::to_string(held_.size()) + " closures are given back: not done "
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

void attachment::answer(std::uint64_t closure, std::uint32_t attempt, value const& result) {
  auto& m = out_.add_entry(result.bytes.size() + 20);
  int const position = m.closure_size();
  m.add_closure(closure);
  m.add_attempt(attempt);
  m.add_value(result.bytes.data(), result.bytes.size());
  proto::add_encoding(*m.mutable_encoding(), position, result.encoding == encoding::bytes);
  if (position == 0) pending_.set();
}

void attachment::answer(std::uint64_t closure, std::uint32_t attempt, failure const& why) {
  auto& m = out_.add_entry(why.message.size() + why.traceback.size() + 40);
  int const position = m.closure_size();
  m.add_closure(closure);
  m.add_attempt(attempt);
  m.add_value();
  proto::add_encoding(*m.mutable_encoding(), position, false);
  auto& f = *m.add_failure();
  f.set_position(static_cast<std::uint32_t>(position));
  to_wire(why, f);
  if (position == 0) pending_.set();
}

}  // namespace muster
