#include "server/rpc/sessions/session_stream.hpp"

#include <spdlog/spdlog.h>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/this_coro.hpp>
#include <utility>

#include "base/check.hpp"
#include "proto/byte_buffer.hpp"
#include "server/rpc/sessions/notice_convert.hpp"
#include "server/rpc/sessions/outcome_convert.hpp"
#include "server/rpc/sessions/schedule_convert.hpp"
#include "server/rpc/sessions/session_text.hpp"
#include "server/rpc/status_convert.hpp"
#include "server/rpc/stream_list.hpp"

namespace muster::server {
namespace {

muster::status wrong(std::string what) {
  return {muster::code::invalid_argument, std::move(what)};
}

std::uint64_t grace_ms(v1::Open const& open, core::config const& limits) {
  auto const grace = open.detached() ? limits.detached_grace
                     : open.session_grace_ms() > 0
                         ? std::chrono::milliseconds(open.session_grace_ms())
                         : limits.session_grace;
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(grace).count());
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
  leave_session();
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
    if (problem.ok()) continue;
    forget_ = true;
    end(to_grpc(problem));
  }
}

bool session_stream::may_read() const {
  return !open_ || (hub_.state().has_room(session_) && out_.entries() < outcomes_max_);
}

muster::status session_stream::take_read() {
  if (read_.Length() > stream_message_bytes_max) return message_too_long(read_.Length());
  return proto::decode(read_, message_) ? take(message_)
                                        : wrong("the message could not be decoded");
}

muster::status session_stream::take(v1::SessionRequest const& m) {
  if (!open_) {
    if (!m.has_open()) return wrong("open: must come first");
    if (auto problem = take_open(m.open()); !problem.ok()) return problem;
  } else if (m.has_open()) {
    return wrong("open: came a second time");
  }
  if (auto problem = take_names(m); !problem.ok()) return problem;
  if (auto problem = take_per_worker(m); !problem.ok()) return problem;
  batch_.closures.clear();
  batch_.generation = m.generation();
  auto const held = [this](std::uint64_t token) {
    return hub_.state().closure_of(session_, token);
  };
  if (auto problem = from_wire(m, functions_, held, batch_.closures); !problem.empty())
    return wrong(problem);
  if (holding_)
    for (int i = 0; i < m.token_size(); ++i)
      if (m.token(i) == 0) return wrong("token[" + std::to_string(i) + "]: 0 is none");
  if (!batch_.closures.empty()) hub_.apply(batch_);
  take_requests(m);
  return {};
}

void session_stream::take_requests(v1::SessionRequest const& m) {
  for (auto const token : m.cancel_token())
    if (auto const id = hub_.state().closure_of(session_, token); id != core::closure_id{})
      hub_.apply(core::cancel_closure{{}, id});
  if (m.cancel()) hub_.apply(core::cancel_session{{}, session_});
  if (m.release_token_size() > 0)
    hub_.apply(core::release_values{
        {}, session_, {m.release_token().begin(), m.release_token().end()}, {}});
  for (auto const value : m.release_per_worker())
    hub_.apply(core::delete_per_worker{{}, core::per_worker_id{value}, session_});
  if (!m.close()) return;
  forget_ = true;
  end(grpc::Status::OK);
}

muster::status session_stream::take_open(v1::Open const& open) {
  core::resume_reply resumed;
  auto const problem = open.resume().empty() ? open_new(open) : resume(open, resumed);
  if (!problem.ok()) return problem;
  auto const view = hub_.state().job(session_).value();
  auto const& limits = hub_.state().configuration();
  batch_.session = session_;
  open_ = true;
  holding_ = view.holding;
  deadline_.cancel();
  spdlog::info("session {} session={} name=\"{}\" peer={}",
               open.resume().empty() ? "opened" : "resumed", text(session_), view.name,
               call_.context().peer());
  auto& opened = *out_.tail().mutable_opened();
  opened.set_session(text(session_));
  opened.set_queue_capacity(outcomes_max_);
  opened.set_server_incarnation(options_.server_incarnation);
  opened.set_server_version(options_.server_version);
  opened.set_generation(view.generation);
  if (holding_) opened.set_session_grace_ms(grace_ms(open, limits));
  out_.seal();  // it comes alone
  tell_missed(resumed);
  pending_.set();
  return {};
}

muster::status session_stream::open_new(v1::Open const& open) {
  auto spec = from_wire(open);
  if (!spec) return spec.error();
  core::reply answer;
  core::open_session event;
  event.spec = std::move(*spec);
  hub_.ask(std::move(event), [&answer](core::reply const& r) { answer = r; });
  if (!answer.status.ok()) return answer.status;
  session_ = std::get<core::session_reply>(answer.body).session;
  hub_.attach(session_, *this);
  auto const& limits = hub_.state().configuration();
  outcomes_max_ = open.queue_capacity() != 0 ? open.queue_capacity() : limits.queue_capacity;
  return {};
}

muster::status session_stream::resume(v1::Open const& open, core::resume_reply& resumed) {
  auto const session = parse_session(open.resume());
  if (!session) return wrong("open.resume: '" + open.resume() + "' is not the id of a session");
  if (open.resume_incarnation() != options_.server_incarnation)
    return {muster::code::not_found,
            "open.resume: the server has restarted since, and sessions are in memory"};
  core::reply answer;
  core::resume_session event{{},
                             *session,
                             {open.resume_token().begin(), open.resume_token().end()},
                             {open.resume_per_worker().begin(), open.resume_per_worker().end()}};
  hub_.ask(std::move(event), [&answer](core::reply const& r) { answer = r; });
  if (!answer.status.ok()) return {answer.status.code, "open.resume: " + answer.status.message};
  session_ = *session;
  hub_.attach(session_, *this);
  resumed = std::get<core::resume_reply>(answer.body);
  outcomes_max_ = hub_.state().configuration().queue_capacity;
  return {};
}

// The error and the drain that were told to nobody. The client knows which of it is news.
void session_stream::tell_missed(core::resume_reply const& r) {
  using core::notice_kind;
  if (r.failed_generation != 0)
    on_notice({session_, notice_kind::failed, r.failed_generation, r.failure});
  if (r.generation > 1) on_notice({session_, notice_kind::drained, r.generation - 1, {}});
}

muster::status session_stream::take_names(v1::SessionRequest const& m) {
  if (m.function_name_size() == 0) return {};
  auto const at = [](std::size_t i) { return "function_name[" + std::to_string(i) + "]: "; };
  auto const [wrong, ids] = hub_.learn({m.function_name().begin(), m.function_name().end()});
  if (!wrong.ok()) return {wrong.code, at(ids.size()) + wrong.message};
  auto const room = hub_.state().configuration().functions_max - functions_.size();
  if (ids.size() > room)
    return {muster::code::resource_exhausted, at(room) + "too many on this stream"};
  functions_.insert(functions_.end(), ids.begin(), ids.end());
  return {};
}

void session_stream::input_ended() {
  if (!open_) return end(to_grpc(wrong("open: the stream ended without it")));
  if (call_.cancelled()) return end(grpc::Status::CANCELLED);
  if (holding_) return end(grpc::Status::OK);  // it leaves the session, which waits for its return
  sealed_ = true;                              // if it was a break after all, on_cancel comes next
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
  leave_session();
  deadline_.call_at(coro::timer::clock::now() + options_.finish_grace, [this] { call_.cancel(); });
  pending_.set();
  room_.set();
}

void session_stream::shut_down() {
  end({grpc::StatusCode::UNAVAILABLE, "the server is shutting down"});
}

void session_stream::leave_session() {
  if (!std::exchange(open_, false)) return;
  hub_.detach(session_);
  bool const stays = holding_ && !forget_;
  spdlog::info("session {} session={} complete={}", stays ? "waits for its client" : "closed",
               text(session_), sealed_ && drained_);
  if (stays)
    hub_.apply(core::suspend_session{session_});
  else
    hub_.apply(core::close_session{session_});
}

// ---- from the hub -------------------------------------------------------------------------------

void session_stream::on_outcome(core::outcome const& o) {
  to_wire(o, holding_, out_);
  pending_.set();
}

void session_stream::on_notice(core::session_notice const& n) {
  if (n.kind == core::notice_kind::room) return room_.set();
  bool const drained = n.kind == core::notice_kind::drained;
  drained_ |= drained && sealed_;
  if (holding_) {
    to_wire(n, *out_.tail().add_notice());
    if (drained) out_.seal();  // what comes later belongs to the next generation
  }
  pending_.set();
}

void session_stream::on_taken_over() {
  open_ = false;
  end({grpc::StatusCode::ABORTED, "another stream has resumed the session"});
}

}  // namespace muster::server
