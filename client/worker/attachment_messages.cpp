// What the server's messages ask for, and how it is answered.
#include <algorithm>
#include <utility>

#include "client/failure_text.hpp"
#include "client/log.hpp"
#include "client/worker/attachment.hpp"
#include "proto/columns.hpp"

namespace muster {

bool attachment::take_message(v1::ServerMessage& m) {
  if (m.has_welcome()) take_welcome(m.welcome());
  if (!identity_) violation_ = "something came before welcome";
  if (!violation_.empty() || !take_closures(m)) return false;
  take_stops(m);
  for (auto const handle : m.drop_per_worker()) around_.values.drop(handle);
  if (m.drain()) {
    leaving_ = true;
    begin_leaving();
    pending_.set();
  }
  return true;
}

void attachment::say_hello() {
  auto& hello = *out_.tail().mutable_hello();
  hello = around_.hello;
  for (auto const handle : around_.values.handles()) hello.add_per_worker(handle);
  offered_ = held_.offer(std::chrono::steady_clock::now());
  if (offered_.size() > hello.credits()) offered_.resize(hello.credits());
  for (auto const& j : offered_) {
    hello.add_held_closure(j->closure);
    hello.add_held_attempt(j->attempt);
  }
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
  welcomed_at_ = std::chrono::steady_clock::now();
  if (!leave_asked_) deadline_.cancel();
  beat_interval_ = std::chrono::milliseconds(std::max(1u, w.heartbeat_interval_ms()));
  // Before a server that keeps nothing finds out, and the time to find out.
  if (w.reconnect_grace_ms() > 0)
    hold_ = 3 * beat_interval_ + std::chrono::milliseconds(w.reconnect_grace_ms());
  beat();
  for (auto const& j : held_.settle(offered_, {w.kept().data(), w.kept().data() + w.kept_size()}))
    answer(*j);
  if (!offered_.empty())
    log(log_level::info, "goes on with " + std::to_string(w.kept_size()) + " of " +
                             std::to_string(offered_.size()) + " closures");
  offered_.clear();
  log(log_level::info,
      "attached to " + server_ + " as " + identity_->job + ":" + std::to_string(identity_->index));
  take_reports();  // of what went on meanwhile
}

bool attachment::take_closures(v1::ServerMessage& m) {
  int const n = m.closure_size();
  if (m.attempt_size() != n || m.function_size() != n || m.args_size() != n ||
      (m.encoding_size() != 0 && m.encoding_size() != n))
    violation_ = "columns of unequal length";
  if (held_.size() + static_cast<std::size_t>(n) > identity_->credits)
    violation_ = "more closures than credits";
  if (!violation_.empty()) return false;
  if (m.workers() != 0) workers_ = m.workers();
  int next_values = 0;
  for (int i = 0; i < n; ++i) {
    v1::PerWorker const* values = nullptr;
    if (next_values < m.per_worker_size() &&
        m.per_worker(next_values).position() == static_cast<std::uint32_t>(i))
      values = &m.per_worker(next_values++);
    auto const encoding = proto::is_bytes(m.encoding(), i) ? encoding::bytes : encoding::json;
    if (m.function(i) >= around_.functions.size()) {
      failure const why{failure_kind::stale_handle,
                        {},
                        "no function has number " + std::to_string(m.function(i)),
                        {},
                        {},
                        0};
      answer(m.closure(i), m.attempt(i), why);
      continue;
    }
    auto const& f = around_.functions[m.function(i)];
    if (f.quick && !values) {
      run_quick(f, m.closure(i), m.attempt(i), {m.args(i), encoding});
      continue;
    }
    auto j = make_job(m, i, values);
    if (held_.add(j)) batch_.push_back(std::move(j));
  }
  if (!batch_.empty()) around_.threads.push(batch_);
  batch_.clear();
  return true;
}

std::shared_ptr<job> attachment::make_job(v1::ServerMessage& m, int i,
                                          v1::PerWorker const* values) {
  auto j = std::make_shared<job>();
  j->closure = m.closure(i);
  j->attempt = m.attempt(i);
  j->function = &around_.functions[m.function(i)];
  j->worker = identity_;
  j->workers = workers_;
  j->args = {std::move(*m.mutable_args(i)),
             proto::is_bytes(m.encoding(), i) ? encoding::bytes : encoding::json};
  if (values) {
    j->kept = &around_.values;
    j->builds = values->builds();
    j->uses.assign(values->uses().begin(), values->uses().end());
  }
  return j;
}

void attachment::run_quick(registered_function const& f, std::uint64_t closure,
                           std::uint32_t attempt, value_view args) {
  report_buffer::origin const of{closure, attempt};
  closure_reporter reporter(around_.reports, of);
  context c(*identity_, closure, attempt, {}, &reporter);
  quick_result_.bytes.clear();
  quick_result_.encoding = encoding::json;
  bool const ok = call_function(f, c, args, quick_result_, quick_failure_);
  around_.reports.finish(of, out_);
  if (ok)
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
  if (!held_.holds(finished)) return;
  held_.finished(finished);
  if (identity_ && !input_ended_) answer(finished);
}

void attachment::answer(job const& j) {
  around_.reports.finish({j.closure, j.attempt}, out_);
  if (j.ok)
    answer(j.closure, j.attempt, j.result);
  else
    answer(j.closure, j.attempt, j.why);
  held_.answered(j, std::chrono::steady_clock::now());
  pending_.set();  // the last answer may be what leaving waited for
}

void attachment::take_reports() {
  auto const again = around_.reports.drain(out_, std::chrono::steady_clock::now());
  if (!out_.empty()) pending_.set();
  if (again && !input_ended_) progress_.call_at(*again, [this] { take_reports(); });
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
