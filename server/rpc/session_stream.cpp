#include "server/rpc/session_stream.hpp"

#include <spdlog/spdlog.h>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/this_coro.hpp>
#include <utility>

#include "coro/check.hpp"
#include "proto/byte_buffer.hpp"
#include "server/rpc/outcome_convert.hpp"
#include "server/rpc/schedule_convert.hpp"
#include "server/rpc/status_convert.hpp"
#include "server/rpc/stream_list.hpp"

namespace muster::server {
namespace {

core::status wrong(std::string what) {
  return {core::code::invalid_argument, std::move(what)};
}

std::string text(core::session_id id) {
  return fmt::format("job_{:016x}", core::raw(id));  // as REST shows it
}

}  // namespace

session_stream::session_stream(server::hub& h, call& c, coordinator_service_options const& options)
    : hub_(h),
      call_(c),
      options_(options),
      pending_(c.engine()),
      room_(c.engine()),
      deadline_(c.engine()) {}

coro::task<void> session_stream::run() {
  using namespace boost::asio::experimental::awaitable_operators;
  deadline_.call_at(coro::timer::clock::now() + options_.open_timeout, [this] {
    end({grpc::StatusCode::DEADLINE_EXCEEDED,
         "no open within " + std::to_string(options_.open_timeout.count()) + " ms"});
  });
  // While the stream is not read, this is how a vanished client is noticed.
  call_.on_cancel([this] { end(grpc::Status::CANCELLED); });
  auto reading = read_all();
  auto writing = write_all();
  co_await (std::move(reading) && std::move(writing));
  close_session();
}

// ---- reading ------------------------------------------------------------------------------------

coro::task<void> session_stream::read_all() {
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  while (!ended_) {
    if (!may_read()) {
      co_await room_.wait();  // no deadline: being held back is what a full queue means
      continue;
    }
    bool const got = co_await call_.read(read_);
    if (ended_) break;
    if (!got) {
      input_ended();
      break;
    }
    auto const problem = take_read();
    if (!problem.ok()) end(to_grpc(problem));
  }
}

bool session_stream::may_read() const {
  return !open_ || (hub_.state().has_room(session_) && out_.entries() < outcomes_max_);
}

core::status session_stream::take_read() {
  if (read_.Length() > stream_message_bytes_max) return message_too_long(read_.Length());
  return proto::decode(read_, message_) ? take(message_)
                                        : wrong("the message could not be decoded");
}

core::status session_stream::take(v1::SessionRequest const& m) {
  if (!open_) {
    if (!m.has_open()) return wrong("open: must come first");
    if (auto problem = take_open(m.open()); !problem.ok()) return problem;
  } else if (m.has_open()) {
    return wrong("open: came a second time");
  }
  if (auto problem = take_names(m); !problem.ok()) return problem;
  batch_.closures.clear();
  if (auto problem = from_wire(m, functions_, batch_.closures); !problem.empty())
    return wrong(problem);
  if (!batch_.closures.empty()) hub_.apply(batch_);
  if (m.cancel()) hub_.apply(core::cancel_session{{}, session_});
  return {};
}

core::status session_stream::take_open(v1::Open const& open) {
  auto spec = from_wire(open);
  if (!spec) return spec.error();
  auto const& limits = hub_.state().configuration();
  outcomes_max_ = spec->queue_capacity != 0 ? spec->queue_capacity : limits.queue_capacity;
  core::reply answer;
  core::open_session event;
  event.spec = std::move(*spec);
  hub_.ask(std::move(event), [&answer](core::reply const& r) { answer = r; });
  if (!answer.status.ok()) return answer.status;

  session_ = std::get<core::session_reply>(answer.body).session;
  batch_.session = session_;
  open_ = true;
  deadline_.cancel();
  hub_.attach(session_, *this);
  spdlog::info("session opened session={} name=\"{}\" peer={}", text(session_), open.name(),
               call_.context().peer());
  auto& opened = *out_.tail().mutable_opened();
  opened.set_session(text(session_));
  opened.set_queue_capacity(outcomes_max_);
  opened.set_server_incarnation(options_.server_incarnation);
  opened.set_server_version(options_.server_version);
  out_.seal();  // it comes alone
  pending_.set();
  return {};
}

core::status session_stream::take_names(v1::SessionRequest const& m) {
  for (int i = 0; i < m.function_name_size(); ++i) {
    auto const id = hub_.state().intern(m.function_name(i));
    auto const field = "function_name[" + std::to_string(i) + "]: ";
    if (!id) return {id.error().code, field + id.error().message};
    if (functions_.size() >= hub_.state().configuration().functions_max)
      return {core::code::resource_exhausted, field + "too many on this stream"};
    functions_.push_back(*id);
  }
  return {};
}

void session_stream::input_ended() {
  if (!open_) return end(to_grpc(wrong("open: the stream ended without it")));
  if (call_.cancelled()) return end(grpc::Status::CANCELLED);
  sealed_ = true;  // if it was a break after all, on_cancel comes next
  hub_.apply(core::seal_session{{}, session_});
  pending_.set();
}

// ---- writing ------------------------------------------------------------------------------------

coro::task<void> session_stream::write_all() {
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  while (!ended_) {
    if (complete()) {
      end(grpc::Status::OK);
    } else if (out_.empty()) {
      co_await pending_.wait();  // no deadline: closures take as long as they take
    } else {
      encode_next();
      bool const sent = co_await call_.write(written_);
      if (!sent) end(grpc::Status::CANCELLED);
      room_.set();
    }
  }
  co_await call_.finish(status_);
}

void session_stream::encode_next() {
  auto next = out_.take_front();
  check(proto::encode(next->message, written_), "a message is within its limits");
  out_.recycle(std::move(next));
}

void session_stream::end(grpc::Status status) {
  if (std::exchange(ended_, true)) return;
  status_ = std::move(status);
  close_session();
  deadline_.call_at(coro::timer::clock::now() + options_.finish_grace, [this] { call_.cancel(); });
  pending_.set();
  room_.set();
}

void session_stream::shut_down() {
  end({grpc::StatusCode::UNAVAILABLE, "the server is shutting down"});
}

void session_stream::close_session() {
  if (!std::exchange(open_, false)) return;
  hub_.detach(session_);
  spdlog::info("session closed session={} complete={}", text(session_), sealed_ && drained_);
  hub_.apply(core::close_session{session_});
}

// ---- from the hub -------------------------------------------------------------------------------

void session_stream::on_outcome(core::outcome const& o) {
  to_wire(o, out_);
  pending_.set();
}

void session_stream::on_notice(core::notice_kind n) {
  if (n == core::notice_kind::room) room_.set();
  if (n == core::notice_kind::drained && sealed_) {
    drained_ = true;
    pending_.set();
  }
}

}  // namespace muster::server
