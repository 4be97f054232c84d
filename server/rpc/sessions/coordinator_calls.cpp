#include "server/rpc/sessions/coordinator_calls.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "server/rpc/failure_convert.hpp"
#include "server/rpc/sessions/schedule_convert.hpp"
#include "server/rpc/sessions/session_text.hpp"
#include "server/rpc/status_convert.hpp"

namespace muster::server {
namespace {

constexpr std::size_t calls_max = 20'000;  // at one time; more: RESOURCE_EXHAUSTED
constexpr std::chrono::milliseconds wait_default{60'000};
constexpr std::chrono::milliseconds wait_max{600'000};

void report(std::string_view name, std::exception_ptr error) {
  try {
    std::rethrow_exception(error);
  } catch (std::exception const& e) {
    spdlog::error("{} ended by an exception what=\"{}\"", name, e.what());
  }
}

v1::JoinResponse answer_of(core::join_reply const& j) {
  v1::JoinResponse r;
  r.set_done(j.done);
  r.set_generation(j.generation);
  if (j.has_error) to_wire(j.error, *r.mutable_error());
  return r;
}

v1::FetchResponse answer_of(core::value_reply const& v) {
  v1::FetchResponse r;
  r.set_state(v.value == core::value_state::aborted ? v1::FetchResponse::ABORTED
                                                    : v1::FetchResponse::READY);
  if (v.state != core::closure_state::succeeded) {
    to_wire(v.failure, *r.mutable_failure());
    return r;
  }
  r.set_value(v.data.view().data(), v.data.size());
  r.set_encoding(v.data.encoding() == core::encoding::bytes ? v1::BYTES : v1::JSON);
  return r;
}

template <class Body>
Body const& body_of(core::reply const& r) {
  return std::get<Body>(r.body);
}

}  // namespace

coordinator_calls::coordinator_calls(server::hub& h, coro::engine_context& engine,
                                     coordinator_service_options const& options)
    : hub_(h),
      engine_(engine),
      options_(options),
      tasks_(engine.get_executor(), calls_max, report) {}

coro::task<void> coordinator_calls::stop() {
  stopping_ = true;
  for (auto* p : parked_) {
    hub_.forget(p->id);
    p->answer.status = {muster::code::unavailable, "the server is shutting down"};
    p->answered.set();
  }
  co_await tasks_.wait();
}

template <class Call, class Event>
coro::task<core::reply> coordinator_calls::ask(Call& of, Event event) {
  parked wait(engine_);
  wait.id = hub_.ask(std::move(event), [&wait](core::reply const& r) {
    wait.answer = r;
    wait.there = true;
    wait.answered.set();
  });
  if (wait.there) co_return std::move(wait.answer);
  if (stopping_) {
    hub_.forget(wait.id);
    wait.answer.status = {muster::code::unavailable, "the server is shutting down"};
    co_return std::move(wait.answer);
  }
  parked_.insert(&wait);
  of.on_cancel([this, &wait] {
    hub_.forget(wait.id);
    wait.answer.status = {muster::code::cancelled, "the caller is gone"};
    wait.answered.set();
  });
  co_await wait.answered.wait();  // no deadline here: each event that parks carries one
  of.on_cancel([] {});
  parked_.erase(&wait);
  co_return std::move(wait.answer);
}

core::time_point coordinator_calls::until(std::uint64_t timeout_ms) const {
  auto const asked = timeout_ms == 0
                         ? wait_default
                         : std::chrono::milliseconds(std::min<std::uint64_t>(
                               timeout_ms, static_cast<std::uint64_t>(wait_max.count())));
  return hub_.now() + asked;
}

muster::result<core::session_id> coordinator_calls::session_of(std::string const& text) const {
  if (auto const id = parse_session(text)) return *id;
  return muster::status{muster::code::invalid_argument,
                        "session: '" + text.substr(0, 64) + "' is not the id of a session"};
}

template <class Call>
coro::task<core::reply> coordinator_calls::settle(Call& of, core::session_id s,
                                                  std::uint64_t timeout_ms, core::join_mode mode) {
  core::join_session event{{}, s, until(timeout_ms), mode};
  return ask(of, std::move(event));
}

coro::task<void> coordinator_calls::open(
    std::unique_ptr<call<v1::OpenSessionRequest, v1::Opened>> c) {
  auto const& open = c->request().open();
  auto spec = from_wire(open);
  muster::status wrong = spec ? muster::status{} : spec.error();
  if (spec && !open.resume().empty())
    wrong = {muster::code::invalid_argument, "open.resume: only streams are resumed"};
  if (spec && open.detached())
    wrong = {muster::code::invalid_argument, "open.detached: only streams are detached"};
  if (!wrong.ok()) {
    co_await c->finish(to_grpc(wrong));
    co_return;
  }
  core::open_session event;
  event.spec = std::move(*spec);
  event.spec.hold_values = event.spec.by_call = true;
  auto const answer = co_await ask(*c, std::move(event));
  v1::Opened opened;
  if (answer.status.ok()) {
    auto const id = body_of<core::session_reply>(answer).session;
    auto const& limits = hub_.state().configuration();
    auto const grace =
        open.session_grace_ms() != 0
            ? std::chrono::milliseconds(open.session_grace_ms())
            : std::chrono::duration_cast<std::chrono::milliseconds>(limits.session_grace);
    opened.set_session(text(id));
    opened.set_queue_capacity(open.queue_capacity() != 0 ? open.queue_capacity()
                                                         : limits.queue_capacity);
    opened.set_server_incarnation(options_.server_incarnation);
    opened.set_server_version(options_.server_version);
    opened.set_generation(1);
    opened.set_session_grace_ms(static_cast<std::uint64_t>(grace.count()));
    spdlog::info("session opened by call session={} name=\"{}\"", text(id), open.name());
  }
  co_await c->finish(opened, to_grpc(answer.status));
}

coro::task<void> coordinator_calls::schedule(
    std::unique_ptr<call<v1::ScheduleRequest, v1::ScheduleResponse>> c) {
  auto const& r = c->request();
  v1::ScheduleResponse response;
  auto const session = session_of(r.session());
  muster::status status = session ? muster::status{} : session.error();
  core::schedule event;
  hub::learned functions;
  if (status.ok()) functions = hub_.learn({r.function().begin(), r.function().end()});
  if (auto const& wrong = functions.status; !wrong.ok())
    status = {wrong.code,
              "function[" + std::to_string(functions.ids.size()) + "]: " + wrong.message};
  if (status.ok()) {
    event.session = *session;
    auto const held = [this, &session](std::uint64_t token) {
      return hub_.state().closure_of(*session, token);
    };
    if (auto wrong = from_wire(r, functions.ids, held, event.closures); !wrong.empty())
      status = {muster::code::invalid_argument, std::move(wrong)};
  }
  if (status.ok()) {
    // First the error of what came before, once nothing of it runs any more.
    auto const before = co_await settle(*c, *session, r.timeout_ms(), core::join_mode::settle);
    status = before.status;
    if (status.ok()) {
      auto const& j = body_of<core::join_reply>(before);
      response.set_generation(j.generation);
      if (j.has_error) to_wire(j.error, *response.mutable_error());
    }
  }
  if (status.ok() && !response.has_error()) {
    auto const answer = co_await ask(*c, std::move(event));
    status = answer.status;
    if (status.ok())
      for (auto const id : body_of<core::session_reply>(answer).closures)
        response.add_closure(core::raw(id));
  }
  co_await c->finish(response, to_grpc(status));
}

coro::task<void> coordinator_calls::join(
    std::unique_ptr<call<v1::JoinRequest, v1::JoinResponse>> c) {
  auto const session = session_of(c->request().session());
  if (!session) {
    co_await c->finish(to_grpc(session.error()));
    co_return;
  }
  auto answer = co_await settle(*c, *session, c->request().timeout_ms(), core::join_mode::drain);
  auto const* body = std::get_if<core::join_reply>(&answer.body);
  bool const late = body && answer.status.code == muster::code::deadline_exceeded;
  auto response = body ? answer_of(*body) : v1::JoinResponse();
  if (late) response.clear_error();  // it is still being drained
  auto const status = late ? grpc::Status::OK : to_grpc(answer.status);
  co_await c->finish(response, status);
}

coro::task<void> coordinator_calls::done(
    std::unique_ptr<call<v1::DoneRequest, v1::JoinResponse>> c) {
  auto const session = session_of(c->request().session());
  if (!session) {
    co_await c->finish(to_grpc(session.error()));
    co_return;
  }
  auto const answer = co_await settle(*c, *session, 0, core::join_mode::settle);
  auto const* body = std::get_if<core::join_reply>(&answer.body);
  auto const response = body ? answer_of(*body) : v1::JoinResponse();
  co_await c->finish(response, to_grpc(answer.status));
}

coro::task<void> coordinator_calls::fetch(
    std::unique_ptr<call<v1::FetchRequest, v1::FetchResponse>> c) {
  core::await_value event{
      {}, core::closure_id{c->request().closure()}, until(c->request().timeout_ms())};
  auto const answer = co_await ask(*c, std::move(event));
  auto const* body = std::get_if<core::value_reply>(&answer.body);
  bool const late = answer.status.code == muster::code::deadline_exceeded;
  auto const response = body ? answer_of(*body) : v1::FetchResponse();
  auto const status = late ? grpc::Status::OK : to_grpc(answer.status);
  co_await c->finish(response, status);
}

coro::task<void> coordinator_calls::cancel(
    std::unique_ptr<call<v1::CancelRequest, v1::CancelResponse>> c) {
  auto const& r = c->request();
  auto const session = session_of(r.session());
  muster::status status = session ? muster::status{} : session.error();
  for (auto const id : r.closure()) {
    if (!status.ok()) break;
    auto const view = hub_.state().closure(core::closure_id{id});
    if (!view || view->job != *session) continue;  // released, or none of this session's
    hub_.apply(core::cancel_closure{{}, core::closure_id{id}});
  }
  if (status.ok() && r.closure_size() == 0) {
    core::cancel_session event{{}, *session};
    auto const answer = co_await ask(*c, std::move(event));
    status = answer.status;
  }
  v1::CancelResponse const response;
  co_await c->finish(response, to_grpc(status));
}

coro::task<void> coordinator_calls::release(
    std::unique_ptr<call<v1::ReleaseRequest, v1::ReleaseResponse>> c) {
  auto const session = session_of(c->request().session());
  muster::status status = session ? muster::status{} : session.error();
  if (status.ok()) {
    core::release_values event{{}, *session, {}, {}};
    for (auto const id : c->request().closure()) event.closures.push_back(core::closure_id{id});
    auto const answer = co_await ask(*c, std::move(event));
    status = answer.status;
  }
  v1::ReleaseResponse const response;
  co_await c->finish(response, to_grpc(status));
}

coro::task<void> coordinator_calls::close(
    std::unique_ptr<call<v1::CloseSessionRequest, v1::CloseSessionResponse>> c) {
  auto const session = session_of(c->request().session());
  muster::status status = session ? muster::status{} : session.error();
  if (status.ok()) {
    auto const view = hub_.state().job(*session);
    if (!view)
      status = view.error();
    else if (!view->holding)
      status = {muster::code::failed_precondition,
                c->request().session() + " was not opened by call"};
    else
      hub_.apply(core::close_session{*session});
  }
  v1::CloseSessionResponse const response;
  co_await c->finish(response, to_grpc(status));
}

}  // namespace muster::server
