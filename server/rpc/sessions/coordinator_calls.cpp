#include "server/rpc/sessions/coordinator_calls.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "server/core/queries/closure_queries.hpp"
#include "server/core/queries/session_queries.hpp"
#include "server/core/queries/value_queries.hpp"
#include "server/core/queries/worker_queries.hpp"
#include "server/core/texts/explanation_texts.hpp"
#include "server/hub/id_parsing.hpp"
#include "server/rpc/failure_convert.hpp"
#include "server/rpc/sessions/log_feed.hpp"
#include "server/rpc/sessions/schedule_convert.hpp"
#include "server/rpc/stream_list.hpp"

namespace muster::server {
namespace {

// Maximum number of concurrent calls; further calls fail with RESOURCE_EXHAUSTED.
constexpr std::size_t calls_max = 20'000;
constexpr int explained_max = 16;  // closures per call; all workers are examined for each closure
constexpr int cancelled_max = 10'000;
constexpr std::size_t tasks_per_page = 1'000;
constexpr std::chrono::milliseconds wait_default{60'000};
constexpr std::chrono::milliseconds wait_max{600'000};

muster::result<core::session_id> session_of(std::string const& text) {
  if (auto const id = parse_job(text); id && *id != core::session_id{}) return *id;
  return invalid("session: '" + text.substr(0, 64) + "' is not a session id");
}

/// A timeout counts as success, because its reply contains the partial result.
bool in_time_or_late(core::reply const& r) {
  return r.status.ok() || r.status.code == muster::code::deadline_exceeded;
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

// Returns why an object's calls have no answer. Returns an empty string if the object is unknown or
// belongs to another submitter.
std::string explanation_of(hub& h, core::session_id session, core::object_id id) {
  auto const& objects = h.objects().state();
  auto const* found = objects.find(id);
  if (!found || !objects.may_use(session, found->submitter)) return {};
  auto const o = objects.view(id, *found);
  auto const task = o.spec.job + ":" + std::to_string(o.spec.index);
  auto const what = o.spec.name.empty() ? "the object of class " + o.spec.class_name
                                        : "the object '" + o.spec.name + "'";
  using state = core::objects::object_state;
  if (o.state == state::ready)
    return what + " on " + task + " has " + std::to_string(o.waiting) + " calls waiting and " +
           std::to_string(o.executing) + " executing";
  if (o.state == state::starting) return what + " is being created on " + task;
  if (o.state != state::pending) return o.error;
  auto const row = h.state().workers().find(o.spec.job, o.spec.index);
  if (!row)
    return what + " is waiting for its task: no task " + task + " has connected to this server";
  return what + " is waiting for its task: " + task + " is not connected";
}

}  // namespace

coordinator_calls::coordinator_calls(pools& all, coro::engine_context& engine,
                                     stream_options const& options)
    : pools_(all),
      options_(options),
      waiting_(all, engine),
      tasks_(engine.get_executor(), calls_max, report_exception) {}

coro::task<void> coordinator_calls::stop() {
  waiting_.stop();
  co_await tasks_.wait();
}

core::time_point coordinator_calls::until(std::uint64_t timeout_ms) const {
  auto const asked = timeout_ms == 0
                         ? wait_default
                         : std::chrono::milliseconds(std::min<std::uint64_t>(
                               timeout_ms, static_cast<std::uint64_t>(wait_max.count())));
  return pools_.main().now() + asked;
}

template <class Call>
coro::task<core::reply> coordinator_calls::settle(Call& of, core::session_id s,
                                                  std::uint64_t timeout_ms, core::join_mode mode) {
  core::join_session event{{}, s, until(timeout_ms), mode};
  return waiting_.ask(pools_.of(s), of, std::move(event));
}

auto coordinator_calls::open(call<v1::OpenSessionRequest, v1::Opened>& c) -> answered<v1::Opened> {
  auto const& r = c.request();
  auto spec = from_wire(r.open());
  if (!spec) co_return spec.error();
  if (!r.open().resume().empty()) co_return invalid("open.resume: only streams can be resumed");
  if (r.open().detached()) co_return invalid("open.detached: only streams can be detached");
  auto const found = pool_of_call(pools_, options_, c.context(), r.open().cluster());
  if (!found)
    co_return muster::status{found.error().code, "open.cluster: " + found.error().message};
  auto& h = **found;
  core::open_session event;
  event.spec = std::move(*spec);
  event.spec.delivery = core::delivery::unary;
  if (auto const who = caller_of(options_.gate, c.context())) {
    event.spec.submitted_by = who->id;
    limit_to(*who, event.spec);
    if (auto full = room_of(*who, pools_, 1, 0); !full.ok()) co_return full;
  }
  event.client = c.context().peer();
  auto asking = waiting_.ask(h, c, std::move(event));
  auto const answer = co_await std::move(asking);
  if (!answer.status.ok()) co_return answer.status;
  auto const session = std::get<core::session_reply>(answer.body).session;
  auto const& state = pools_.of(session).state();
  auto const found_view = state.sessions().find(session);
  if (!found_view) co_return found_view.error();
  auto const& view = *found_view;
  auto opened = to_wire(view, r.open(), state.configuration());
  opened.set_server_incarnation(options_.server_incarnation());
  opened.set_server_version(options_.server_version);
  spdlog::info("session opened by call session={} name=\"{}\"", opened.session(), view.name);
  co_return opened;
}

muster::status coordinator_calls::read(v1::ScheduleRequest const& r, hub& h,
                                       core::session_id session, submission& into) {
  auto const [wrong, functions] = h.learn({r.function().begin(), r.function().end()});
  if (!wrong.ok())
    return {wrong.code, "function[" + std::to_string(functions.size()) + "]: " + wrong.message};
  auto const held = [&h, session](std::uint64_t token) {
    return h.state().closure_of(session, token);
  };
  auto bad = from_wire(r, functions, held, into);
  return bad.empty() ? muster::status{} : invalid(std::move(bad));
}

auto coordinator_calls::schedule(call<v1::ScheduleRequest, v1::ScheduleResponse>& c)
    -> answered<v1::ScheduleResponse> {
  auto const session = session_of(c.request().session());
  if (!session) co_return session.error();
  submission closures;
  if (auto wrong = read(c.request(), pools_.of(*session), *session, closures); !wrong.ok())
    co_return wrong;
  // The previous generation's error is reported once none of its closures is running.
  auto settling = settle(c, *session, c.request().timeout_ms(), core::join_mode::settle);
  auto const before = co_await std::move(settling);
  if (!before.status.ok()) co_return before.status;
  v1::ScheduleResponse response;
  auto const& j = std::get<core::join_reply>(before.body);
  response.set_generation(j.generation);
  if (j.has_error) {
    to_wire(j.error, *response.mutable_error());
    co_return response;
  }
  // Admission is checked again, because during the wait the cluster may have been removed, or other
  // calls may have used the quota.
  if (auto const who = caller_of(options_.gate, c.context()))
    if (auto full = room_of(*who, pools_, 0, closures.closures().size()); !full.ok())
      co_return full;
  auto scheduling = waiting_.ask(pools_.of(*session), c, std::move(closures.appending(*session)));
  auto const answer = co_await std::move(scheduling);
  if (!answer.status.ok()) co_return answer.status;
  for (auto const id : std::get<core::session_reply>(answer.body).closures)
    response.add_closure(core::raw(id));
  co_return response;
}

auto coordinator_calls::join(call<v1::JoinRequest, v1::JoinResponse>& c)
    -> answered<v1::JoinResponse> {
  auto const session = session_of(c.request().session());
  if (!session) co_return session.error();
  auto draining = settle(c, *session, c.request().timeout_ms(), core::join_mode::drain);
  auto const answer = co_await std::move(draining);
  auto const* body = std::get_if<core::join_reply>(&answer.body);
  if (!body || !in_time_or_late(answer)) co_return answer.status;
  auto response = answer_of(*body);
  if (!answer.status.ok()) response.clear_error();  // the generation is still draining
  co_return response;
}

auto coordinator_calls::done(call<v1::DoneRequest, v1::JoinResponse>& c)
    -> answered<v1::JoinResponse> {
  auto const session = session_of(c.request().session());
  if (!session) co_return session.error();
  auto settling = settle(c, *session, 0, core::join_mode::settle);
  auto const answer = co_await std::move(settling);
  if (!answer.status.ok()) co_return answer.status;
  co_return answer_of(std::get<core::join_reply>(answer.body));
}

auto coordinator_calls::fetch(call<v1::FetchRequest, v1::FetchResponse>& c)
    -> answered<v1::FetchResponse> {
  core::await_value event{
      {}, core::closure_id{c.request().closure()}, until(c.request().timeout_ms())};
  auto asking = waiting_.ask(pools_.of(event.closure), c, std::move(event));
  auto const answer = co_await std::move(asking);
  if (!in_time_or_late(answer)) co_return answer.status;
  auto const* body = std::get_if<core::value_reply>(&answer.body);
  co_return body ? answer_of(*body) : v1::FetchResponse();
}

muster::result<v1::CancelResponse> coordinator_calls::cancel(v1::CancelRequest const& r) {
  auto const session = session_of(r.session());
  if (!session) return session.error();
  auto& h = pools_.of(*session);
  for (auto const id : r.closure()) {
    auto const view = h.state().closures().find(core::closure_id{id});
    if (!view || view->job != *session)
      continue;  // the closure was released or belongs to another session
    h.apply(core::cancel_closure{{}, core::closure_id{id}});
  }
  if (r.closure_size() > 0) return v1::CancelResponse();
  auto const answer = h.ask_now(core::cancel_session{{}, *session});
  if (!answer.status.ok()) return answer.status;
  return v1::CancelResponse();
}

muster::result<v1::CancelQueuedResponse> coordinator_calls::cancel_queued(
    v1::CancelQueuedRequest const& r) {
  auto const session = session_of(r.session());
  if (!session) return session.error();
  if (r.token_size() > cancelled_max)
    return invalid("token: " + std::to_string(r.token_size()) + " tokens, the limit is " +
                   std::to_string(cancelled_max));
  auto& h = pools_.of(*session);
  if (auto const known = h.state().sessions().find(*session); !known) return known.error();
  v1::CancelQueuedResponse response;
  // Classifies all closures before it cancels the first, because the dependents of a cancelled
  // closure fail.
  std::vector<core::closure_id> queued;
  for (auto const token : r.token()) {
    auto const id = h.state().closure_of(*session, token);
    auto const view = h.state().closures().find(id);
    bool const cancelled = view && view->state == core::closure_state::cancelled;
    if (id == core::closure_id{} || !view || (cancelled && r.dry_run()))
      response.add_unknown(token);
    else if (cancelled)
      continue;  // cancelled by a concurrent request of this client
    else if (view->state == core::closure_state::running || core::ended(view->state))
      response.add_started(token);
    else
      queued.push_back(id);
  }
  if (r.dry_run()) return response;
  for (auto const id : queued) h.apply(core::cancel_closure{{}, id});
  return response;
}

muster::result<v1::GetCapacityResponse> coordinator_calls::get_capacity(
    v1::GetCapacityRequest const& r) {
  auto const session = session_of(r.session());
  if (!session) return session.error();
  auto const& state = pools_.of(*session).state();
  // Tasks of these jobs run only closures that request these tasks.
  auto const& stateful = state.configuration().stateful_jobs;
  core::task_filter const connected{core::task_state::connected, {}};
  std::uint32_t slots = 0;
  std::optional<std::size_t> after = 0;
  while (after) {
    auto const tasks = state.workers().list(*after, tasks_per_page, connected);
    for (auto const& task : tasks.items)
      if (!task.draining && !task.cordoned &&
          std::find(stateful.begin(), stateful.end(), task.job) == stateful.end() &&
          std::find(task.functions.begin(), task.functions.end(), r.function()) !=
              task.functions.end())
        slots += task.slots;
    after = tasks.next;
  }
  v1::GetCapacityResponse response;
  response.set_slots(slots);
  return response;
}

muster::result<v1::ExplainResponse> coordinator_calls::explain(v1::ExplainRequest const& r) {
  auto const session = session_of(r.session());
  if (!session) return session.error();
  if (r.token_size() > explained_max)
    return invalid("token: " + std::to_string(r.token_size()) + " tokens, the limit is " +
                   std::to_string(explained_max));
  auto& h = pools_.of(*session);
  if (auto const known = h.state().sessions().find(*session); !known) return known.error();
  v1::ExplainResponse response;
  for (auto const token : r.token()) {
    auto const id = h.state().closure_of(*session, token);
    if (id == core::closure_id{}) {
      // The token is an object's number, because object numbers are greater than all tokens; see
      // object_hub.
      auto why = response.why().empty() ? explanation_of(h, *session, core::object_id{token}) : "";
      if (!why.empty()) response.set_why(std::move(why));
      continue;
    }
    bool const no_worker = h.state().closures().has_no_worker(id);
    if (!no_worker && response.token() != 0) continue;
    response.set_token(token);
    response.set_no_worker(no_worker);
    if (auto why = h.state().closures().explain(id, h.now())) response.set_why(text(*why));
    if (no_worker) break;
  }
  return response;
}

muster::result<v1::ReleaseResponse> coordinator_calls::release(v1::ReleaseRequest const& r) {
  auto const session = session_of(r.session());
  if (!session) return session.error();
  auto& h = pools_.of(*session);
  core::release_values event{{}, *session, {}, {}};
  for (auto const id : r.closure()) event.closures.push_back(core::closure_id{id});
  auto const answer = h.ask_now(std::move(event));
  if (!answer.status.ok()) return answer.status;
  return v1::ReleaseResponse();
}

muster::result<v1::PerWorkerValue> coordinator_calls::create_per_worker(
    v1::CreatePerWorkerValueRequest const& r) {
  auto const session = session_of(r.session());
  if (!session) return session.error();
  auto& h = pools_.of(*session);
  auto event = from_wire(r);
  if (!event) return event.error();
  auto const [wrong, functions] = h.learn({r.function()});
  if (!wrong.ok()) return muster::status{wrong.code, "function: " + wrong.message};
  event->function = functions.front();
  event->owner = *session;
  auto const answer = h.ask_now(std::move(*event));
  if (!answer.status.ok()) return answer.status;
  return to_wire(
      h.state().per_worker().find(std::get<core::per_worker_reply>(answer.body).id).value());
}

muster::result<v1::PerWorkerValue> coordinator_calls::get_per_worker(
    v1::GetPerWorkerValueRequest const& r) {
  auto const id = core::per_worker_id{r.value()};
  auto const found = pools_.of(id).state().per_worker().find(id);
  if (!found) return found.error();
  return to_wire(*found);
}

muster::result<v1::ReleaseResponse> coordinator_calls::release_per_worker(
    v1::ReleasePerWorkerValueRequest const& r) {
  auto const session = session_of(r.session());
  if (!session) return session.error();
  auto& h = pools_.of(*session);
  auto const answer =
      h.ask_now(core::delete_per_worker{{}, core::per_worker_id{r.value()}, *session});
  if (!answer.status.ok()) return answer.status;
  return v1::ReleaseResponse();
}

muster::result<v1::GetLogsResponse> coordinator_calls::get_logs(v1::GetLogsRequest const& r) {
  constexpr std::size_t lines_max = 1'000, bytes_max = std::size_t{1} << 20;
  auto const session = session_of(r.session());
  if (!session) return session.error();
  if (r.limit() > lines_max)
    return invalid("limit: " + std::to_string(r.limit()) + ", the limit is " +
                   std::to_string(lines_max));
  auto const& h = pools_.of(*session);
  if (auto const known = h.state().sessions().find(*session); !known) return known.error();
  v1::GetLogsResponse response;
  log_target of{*session, core::closure_id{r.closure()}};
  bool const all = r.closure() == 0 && r.token() == 0;
  if (r.closure() == 0 && r.token() != 0) of.closure = h.state().closure_of(*session, r.token());
  // The closure has reported nothing in this session.
  if (!all && h.logs().job_of(of.closure) != *session) return response;
  auto const page = h.logs().after(of, r.after(), r.limit() == 0 ? lines_max : r.limit());
  response.set_dropped(page.dropped);
  response.set_last(all ? h.logs().newest(*session) : page.last);
  std::size_t bytes = 0;
  for (auto const& line : page.lines) {
    if ((bytes += line.text.size()) > bytes_max) break;
    to_wire(line, h.logs().name_of(line.closure), *response.add_line());
  }
  return response;
}

muster::result<v1::CloseSessionResponse> coordinator_calls::close(
    v1::CloseSessionRequest const& r) {
  auto const session = session_of(r.session());
  if (!session) return session.error();
  auto& h = pools_.of(*session);
  auto const view = h.state().sessions().find(*session);
  if (!view) return view.error();
  if (!view->resumable)
    return muster::status{muster::code::failed_precondition,
                          r.session() + " belongs to a stream, and ends with it"};
  if (core::ended(view->state))
    return muster::status{muster::code::not_found, r.session() + " has ended"};
  h.apply(core::close_session{*session});
  return v1::CloseSessionResponse();
}

}  // namespace muster::server
