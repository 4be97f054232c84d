#include "client/agent/agent.hpp"

#include <algorithm>
#include <boost/system/system_error.hpp>
#include <cstdint>
#include <random>

#include "client/checks.hpp"

namespace muster::detail {

namespace x = xla::coordination;

namespace {

using std::chrono::milliseconds;

constexpr std::size_t tasks_max = 65'536;
constexpr milliseconds beat_again{1'000};  // pause after a heartbeat without an answer
/// Delay before a rejected heartbeat ends the run. The poll usually returns a more precise error at
/// the same time.
constexpr milliseconds poll_first{1'000};
/// Added to a call's deadline, so that the service's own timeout is reported first.
constexpr milliseconds leave_margin{5'000};

std::uint64_t random_incarnation() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

}  // namespace

agent::agent(client_engine& engine, coordination_options options)
    : engine_(engine),
      options_(std::move(options)),
      channel_(make_channel(options_.server, checked_tls(options_.tls))),
      stubs_(x::CoordinationService::NewStub(channel_),
             tensorflow::CoordinationService::NewStub(channel_)),
      tasks_(engine.context().get_executor(), tasks_max,
             [](std::string_view, std::exception_ptr e) { std::rethrow_exception(e); }) {}

void agent::spawn(char const* name, coro::task<void> body) {
  if (!tasks_.spawn(name, std::move(body)))
    throw coordination_error(coordination_code::resource_exhausted,
                             "the agent has reached the limit of unfinished calls");
}

void agent::set_state(agent_state s) {
  std::lock_guard const held(mutex_);
  state_ = s;
}

void agent::cut_all(ticket::cut why, ticket const* but) {
  for (auto* t : tickets_)
    if (t != but) t->cut_short(why);
}

void agent::check_connected() const {
  if (state_ == agent_state::failed) throw *error_;
  if (state_ != agent_state::connected)
    throw coordination_error(coordination_code::failed_precondition, "the agent is not connected");
}

void agent::check_cut(ticket const& t) const {
  switch (t.why()) {
    case ticket::cut::none:
      return;
    case ticket::cut::cancelled:
      throw boost::system::system_error(boost::asio::error::operation_aborted);
    case ticket::cut::left:
      throw coordination_error(coordination_code::cancelled, "this agent has left the barrier");
    case ticket::cut::failed:
      throw *error_;
    case ticket::cut::closed:
      throw coordination_error(coordination_code::cancelled, "the agent was shut down");
  }
}

service_error agent::no_answer(milliseconds after) const {
  service_error e;
  e.code = coordination_code::deadline_exceeded;
  e.message = options_.server + " did not answer within " + in_ms(after);
  return e;
}

coro::task<void> agent::connect(ticket& t) {
  if (state_ == agent_state::connected || state_ == agent_state::connecting)
    throw coordination_error(coordination_code::failed_precondition,
                             "the agent is already connected or connecting");
  auto const given = std::exchange(registered_before_, true) ? 0 : options_.incarnation;
  {
    std::lock_guard const held(mutex_);
    state_ = agent_state::connecting;
    incarnation_ = given != 0 ? given : random_incarnation();
  }
  uses_.clear();
  try {
    auto registering = register_task(t);
    co_await std::move(registering);
  } catch (...) {
    set_state(agent_state::idle);
    throw;
  }
  last_answer_ = clock::now();
  set_state(agent_state::connected);
  tasks_.spawn("heartbeats", beat());
  tasks_.spawn("poll", poll());
}

// Retries while the result can change, because the service is not available yet or still stores the
// previous run.
coro::task<void> agent::register_task(ticket& t) {
  auto const end = clock::now() + options_.connect_timeout;
  backoff pauses(milliseconds(20), milliseconds(1'000), incarnation_);
  for (;;) {
    x::RegisterTaskRequest q;
    q.set_incarnation(incarnation_);
    q.set_source_task_id(static_cast<std::int32_t>(options_.task));
    x::RegisterTaskResponse r;
    auto calling = once(t, &xla_stub::PrepareAsyncRegisterTask, q, r, end);
    auto const status = co_await std::move(calling);
    check_cut(t);
    if (status.ok()) {
      std::lock_guard const held(mutex_);
      service_ = r.service_incarnation();
      adopt_timeout(milliseconds(static_cast<milliseconds::rep>(
          std::min<std::uint64_t>(r.heartbeat_timeout_ms(), 1'000'000'000'000))));
      co_return;
    }
    auto const e = read_error(status);
    if (!e.answered && e.code == coordination_code::deadline_exceeded)
      no_answer(options_.connect_timeout).raise();
    auto const passes = e.passes() || (e.answered && (e.code == coordination_code::aborted ||
                                                      e.code == coordination_code::internal ||
                                                      e.code == coordination_code::unavailable));
    auto const pause = pauses.next();
    if (!passes || clock::now() + pause >= end) e.raise();
    auto waiting = t.pause().wait_for(pause);
    co_await std::move(waiting);
    check_cut(t);
  }
}

void agent::adopt_timeout(milliseconds of_cluster) {
  auto timeout = options_.heartbeat_timeout;
  if (of_cluster > milliseconds(0)) timeout = std::min(timeout, of_cluster);
  heartbeat_interval_ = std::max(timeout / 2, milliseconds(1));
}

coro::task<void> agent::beat() {
  ticket t(context(), &tickets_);
  auto const period = heartbeat_interval_;
  auto pause = period;
  for (;;) {
    auto waiting = t.pause().wait_for(pause);
    co_await std::move(waiting);
    if (t.is_cut()) co_return;
    x::HeartbeatRequest q;
    q.set_incarnation(incarnation_);
    sign(q);
    x::HeartbeatResponse r;
    auto const end = clock::now() + std::min(period, milliseconds(10'000));
    auto calling = once(t, &xla_stub::PrepareAsyncHeartbeat, q, r, end);
    auto const status = co_await std::move(calling);
    if (t.is_cut()) co_return;
    if (status.ok()) {
      last_answer_ = clock::now();
      pause = period;
      continue;
    }
    auto e = read_error(status);
    if (e.answered) {
      auto polling = t.pause().wait_for(e.other_service ? milliseconds(0) : poll_first);
      co_await std::move(polling);
      if (!t.is_cut()) fail(e);
      co_return;
    }
    if (clock::now() - last_answer_ >= options_.heartbeat_timeout) {
      e.code = coordination_code::unavailable;
      e.message = "no answer from " + options_.server + " for " +
                  in_ms(options_.heartbeat_timeout) + ": " + e.message;
      co_return fail(e);
    }
    pause = std::min(period, beat_again);
  }
}

// There is no deadline, because an error can occur at any time. Heartbeats detect a broken
// connection.
coro::task<void> agent::poll() {
  ticket t(context(), &tickets_);
  backoff pauses(milliseconds(100), milliseconds(1'000), incarnation_);
  for (;;) {
    x::PollForErrorRequest q;
    sign(q);
    x::PollForErrorResponse r;
    auto calling = once(t, &xla_stub::PrepareAsyncPollForError, q, r, clock::time_point::max());
    auto const status = co_await std::move(calling);
    if (t.is_cut()) co_return;
    auto const e = read_error(status);
    // The task has left, or another process polls instead of it.
    if (e.answered && e.code == coordination_code::cancelled) co_return;
    if (e.answered && e.code != coordination_code::resource_exhausted) co_return fail(e);
    auto waiting = t.pause().wait_for(pauses.next());
    co_await std::move(waiting);
    if (t.is_cut()) co_return;
  }
}

void agent::fail(service_error const& e) {
  if (state_ != agent_state::connected) return;
  auto const why = e.other_service ? "this is not the service that the agent registered with; the "
                                     "service or the run was restarted. "
                                   : "";
  {
    std::lock_guard const held(mutex_);
    state_ = agent_state::failed;
    error_.emplace(e.code, why + e.message, e.task, e.reported);
  }
  cut_all(ticket::cut::failed);
  if (options_.on_error) options_.on_error(*error_);
}

coro::task<void> agent::shutdown(ticket& t) {
  x::ShutdownTaskRequest q;
  x::ShutdownTaskResponse r;
  auto asking = ask(t, &xla_stub::PrepareAsyncShutdownTask, q, r,
                    options_.shutdown_timeout + leave_margin, again::yes);
  auto const refused = co_await std::move(asking);
  if (refused) {
    fail(*refused);
    throw *error_;
  }
  set_state(agent_state::shut_down);
  cut_all(ticket::cut::closed, &t);
}

void agent::close() {
  auto const ended = std::make_shared<std::promise<void>>();
  auto const waited = ended->get_future();
  context().post([self = shared_from_this(), ended] {
    self->cut_all(ticket::cut::closed);
    self->engine_.tasks().spawn("agent", self->end(ended));
  });
  waited.wait();  // no deadline is needed, because cancelled calls end immediately
}

coro::task<void> agent::end(std::shared_ptr<std::promise<void>> ended) {
  while (!tasks_.empty()) {
    auto waiting = tasks_.wait();
    co_await std::move(waiting);
  }
  ended->set_value();
}

}  // namespace muster::detail
