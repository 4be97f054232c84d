#include "tests/core/fixture.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace muster::core {

session_spec fail_fast() {
  return {};
}
session_spec continue_all() {
  session_spec s;
  s.on_error = on_error::continue_all;
  return s;
}
session_spec left_open(session_spec s) {
  s.open = true;
  return s;
}
session_spec streaming(session_spec s) {
  s.open = true;
  s.delivery = delivery::stream;
  return s;
}

session_spec resumable_values(session_spec s) {
  s = streaming(std::move(s));
  s.delivery = delivery::resumable;
  return s;
}
session_spec by_call(session_spec s) {
  s = resumable_values(std::move(s));
  s.delivery = delivery::unary;
  return s;
}

config cluster::pausing(config c, loss_pauses pauses) {
  if (pauses == loss_pauses::none) c.loss_pause = {};
  return c;
}

std::string cluster::idle_beside_work() const {
  if (stopped_ || choosy_) return {};  // covered by the core's own invariants
  if (core.overview(now_).closures_exclusive > 0) return {};
  auto const& stateful = core.configuration().stateful_jobs;
  auto const holds_state = [&](std::string const& job) {
    return std::find(stateful.begin(), stateful.end(), job) != stateful.end();
  };
  std::uint64_t prefetched = 0;
  for (auto const& t : core.workers().list(0, ~std::size_t{}, {}).items) prefetched += t.prefetched;
  for (auto const& f : core.functions().all()) {
    if (f.queued <= prefetched || f.workers == 0) continue;
    for (auto const& t : core.workers().list(0, ~std::size_t{}, {}).items)
      if ((t.state == task_state::connected || t.state == task_state::late) && !t.draining &&
          !t.cordoned && !t.away && t.starts_at <= now_ && t.running < t.slots &&
          !holds_state(t.job) &&
          std::find(t.functions.begin(), t.functions.end(), f.name) != t.functions.end())
        return t.job + ":" + std::to_string(t.index) + " is idle and '" + f.name + "' is queued";
  }
  return {};
}

effects const& cluster::restore(restore_jobs e) {
  for (auto const& j : e.jobs) witness_.note_restored(j);
  fx_ = core.step(now_, e);
  listen(fx_);
  return fx_;
}

void cluster::listen(effects const& fx) {
  told_.fold(fx);
  EXPECT_EQ(told_.difference(core), "");
  past.fold(fx, now_);
  EXPECT_EQ(past.invalid(), "");
  for (auto const& e : fx.changes.ended) restored_ += e.restored;
  auto const n = core.overview(now_).closures;
  EXPECT_EQ(past.metrics().total.count() + restored_, n.succeeded + n.failed + n.cancelled);
}

effects const& cluster::step(event e) {
  auto const* opening = std::get_if<open_session>(&e);
  auto const* scheduling = std::get_if<core::schedule>(&e);
  static std::vector<closure_spec> const none;
  for (auto const& c : opening ? opening->closures : scheduling ? scheduling->closures : none)
    choosy_ |=
        c.extras && (!c.extras->options.gang.empty() || !c.extras->options.task_job.empty() ||
                     !c.extras->options.labels.empty() || !c.extras->options.resources.empty() ||
                     !c.extras->per_worker.empty());
  witness_.before(e);
  fx_ = core.step(now_, e);
  EXPECT_EQ(witness_.after(fx_), "") << "event " << e.index();
  EXPECT_EQ(core.violated_invariant(), "") << "event " << e.index();
  listen(fx_);
  stopped_ |= std::holds_alternative<core::stop>(e);
  EXPECT_EQ(idle_beside_work(), "") << "event " << e.index();
  static_cast<void>(core.next_deadline());  // like the hub after each step
  return fx_;
}

effects const& cluster::step(task_state_lost const& e) {
  fx_ = core.step(now_, e);
  EXPECT_EQ(witness_.after(fx_), "");
  EXPECT_EQ(core.violated_invariant(), "");
  listen(fx_);
  return fx_;
}

void cluster::advance(duration d) {
  auto const end = now_ + d;
  for (auto due = core.next_deadline(); due <= end; due = core.next_deadline()) {
    now_ = std::max(now_, due);
    tick();
  }
  now_ = end;
}

std::optional<reply> cluster::reply_to(call_id call) const {
  for (auto const& r : fx_.replies)
    if (r.call == call) return r;
  return std::nullopt;
}

worker_attached cluster::arrival(joining const& w) {
  worker_attached e;
  e.stream = stream_id{++last_stream_};
  e.spec.job = w.job;
  e.spec.index = w.index;
  e.spec.incarnation = incarnation{w.incarnation == 0 ? ++last_incarnation_ : w.incarnation};
  e.spec.slots = w.slots;
  e.spec.credits = w.credits;
  e.spec.functions = w.functions;
  e.spec.host = w.host;
  e.spec.labels = w.labels;
  e.spec.resources = w.resources;
  e.spec.per_worker = w.per_worker;
  e.spec.replaces = incarnation{w.replaces};
  e.spec.group = w.group;
  e.spec.group_size = w.group_size;
  e.spec.group_position = w.group_position;
  e.spec.last_index = w.last_index;
  return e;
}

stream_id cluster::attach(joining const& w) {
  auto e = arrival(w);
  auto const stream = e.stream;
  step(std::move(e));
  return stream;
}

effects const& cluster::cut(stream_id w, std::string reason) {
  return step(worker_disconnected{w, false, std::move(reason), true});
}

stream_id cluster::come_back(joining const& w, closures const& held) {
  auto e = arrival(w);
  auto const stream = e.stream;
  for (auto const id : held) e.held.push_back({id, witness_.attempt(id)});
  step(std::move(e));
  return stream;
}

effects const& cluster::answer(stream_id w, std::vector<worker_result> results) {
  return step(worker_results{w, std::move(results)});
}

worker_result cluster::good(stream_id w, closure_id c, std::string_view value) const {
  worker_result r;
  r.closure = c;
  r.attempt = 1;
  for (auto const& a : witness_.held(w))
    if (a.closure == c) r.attempt = a.attempt;
  r.value = blob(value);
  return r;
}

worker_result cluster::bad(stream_id w, closure_id c, std::string message,
                           failure_kind kind) const {
  auto r = good(w, c);
  r.ok = false;
  r.value = {};
  r.failure.emplace().kind = kind;
  r.failure->message = std::move(message);
  return r;
}

effects const& cluster::succeed(stream_id w, closure_id c, std::string_view value) {
  return answer(w, {good(w, c, value)});
}

effects const& cluster::fail(stream_id w, closure_id c, std::string message, failure_kind kind) {
  return answer(w, {bad(w, c, std::move(message), kind)});
}

effects const& cluster::lose(stream_id w, std::string reason) {
  return step(worker_disconnected{w, false, std::move(reason)});
}

effects const& cluster::end_process(stream_id w, closure_id executed, std::string how) {
  worker_disconnected e{w, false, std::move(how)};
  e.process_ended = held_closure{executed, witness_.attempt(executed)};
  return step(std::move(e));
}

effects const& cluster::leave(stream_id w, std::string reason) {
  return step(worker_disconnected{w, true, std::move(reason)});
}

result<function_id> cluster::learn(std::string_view name) {
  core::learn_functions const e{call_id{++last_call_}, {std::string(name)}};
  auto const& fx = core.step(now_, e);
  listen(fx);
  auto const answer = fx.replies.at(0);
  if (!answer.status.ok()) return answer.status;
  return std::get<functions_reply>(answer.body).ids.at(0);
}

std::vector<closure_spec> cluster::specs(names const& functions) {
  std::vector<closure_spec> out;
  for (auto const& f : functions) {
    closure_spec s;
    s.function = function(f);
    s.token = ++last_token_;
    s.args = blob(std::to_string(s.token));
    out.push_back(std::move(s));
  }
  return out;
}

opened cluster::open(names const& functions, session_spec spec) {
  return open_with(specs(functions), std::move(spec));
}

opened cluster::open_with(std::vector<closure_spec> work, session_spec spec) {
  auto const r = reply_to_event(open_session{{}, std::move(spec), std::move(work)});
  EXPECT_EQ(r.status, status{});
  auto const* body = std::get_if<session_reply>(&r.body);
  if (!body) return {};
  return {body->session, body->closures};
}

std::vector<std::uint64_t> cluster::schedule(session_id s, names const& functions) {
  core::schedule e{{}, s, specs(functions)};
  std::vector<std::uint64_t> tokens;
  for (auto const& c : e.closures) tokens.push_back(c.token);
  step(std::move(e));
  return tokens;
}

closures cluster::append(session_id s, names const& functions) {
  auto const r = reply_to_event(core::schedule{{}, s, specs(functions)});
  EXPECT_EQ(r.status, status{});
  auto const* body = std::get_if<session_reply>(&r.body);
  return body ? body->closures : core::closures{};
}

closures cluster::held(stream_id w) const {
  core::closures out;
  for (auto const& a : witness_.held(w)) out.push_back(a.closure);
  return out;
}

closures cluster::sent(stream_id w) const {
  core::closures out;
  for (auto const& d : fx_.dispatches)
    if (d.stream == w)
      for (auto i = d.first; i < d.first + d.count; ++i)
        out.push_back(fx_.assignments.at(i).closure);
  return out;
}

notices cluster::noticed(session_id s) const {
  notices out;
  for (auto const& n : fx_.notices)
    if (n.session == s) out.push_back(n.kind);
  return out;
}

std::vector<std::uint64_t> cluster::tokens_sent() const {
  std::vector<std::uint64_t> out;
  for (auto const& a : fx_.assignments) {
    auto const text = a.args.view();
    std::uint64_t token = 0;
    std::from_chars(text.data(), text.data() + text.size(), token);
    out.push_back(token);
  }
  return out;
}

}  // namespace muster::core
