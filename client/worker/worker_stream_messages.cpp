#include <algorithm>
#include <iterator>
#include <utility>

#include "client/log_line.hpp"
#include "client/wire.hpp"
#include "client/worker/machine_report.hpp"
#include "client/worker/worker_stream.hpp"
#include "proto/byte_buffer.hpp"

namespace muster {
namespace {

std::uint64_t in_us(std::chrono::steady_clock::duration d) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(d).count());
}

// Appends an answer to `m`, which is a WorkerMessage or the Answers of a Hello.
template <class Columns>
void add_columns(Columns& m, std::uint64_t closure, std::uint32_t attempt, value_view result,
                 failure const* why, std::chrono::steady_clock::duration took) {
  if (why) result = {};
  int const position = m.closure_size();
  m.add_closure(closure);
  m.add_attempt(attempt);
  m.add_execution_us(in_us(took));
  m.add_value(result.bytes.data(), result.bytes.size());
  proto::add_encoding(*m.mutable_encoding(), position, result.encoding == encoding::bytes);
  if (!why) return;
  auto& f = *m.add_failure();
  f.set_position(static_cast<std::uint32_t>(position));
  to_wire(*why, f);
}

}  // namespace

std::string worker_stream::take(grpc::ByteBuffer& message) {
  auto& m = message_;
  if (!proto::decode(message, m)) return "a message could not be decoded";
  if (m.has_welcome()) take_welcome(m.welcome());
  if (!identity_) return "a message arrived before the welcome";
  received_ += static_cast<std::uint64_t>(m.closure_size() + m.ranks().start_size());
  if (auto wrong = take_closures(m); !wrong.empty()) return wrong;
  take_stops(m);
  take_retractions(m);
  if (m.answers_taken() != 0) take_acknowledgement(m.answers_taken());
  for (auto const handle : m.drop_per_worker()) worker_.values.drop(handle);
  if (ranks_ && m.has_ranks()) {
    ranks_->take(m.ranks());
    stream_.wake();
  }
  if (m.has_objects()) {
    // Drops new calls, because a client that keeps calling would prevent the worker from leaving.
    // Unanswered calls are lost when the task is declared lost.
    if (leaving_ && worker_.held.empty()) m.mutable_objects()->clear_object();
    objects_.take(*m.mutable_objects());
  }
  if (m.has_object_answers()) objects_.calls()->take(m.object_answers());
  if (m.has_objects() || m.has_object_answers()) stream_.wake();
  for (auto const query : m.read_stack()) worker_.read_stack(query);
  if (m.drain()) {
    leaving_ = true;
    begin_leaving();
    stream_.wake();
  }
  return {};
}

void worker_stream::connected() {
  auto& hello = *out_.tail().mutable_hello();
  worker_.hello.set_stream(worker_.hello.stream() + 1);
  hello = worker_.hello;
  for (auto const handle : worker_.values.handles()) hello.add_per_worker(handle);
  if (ranks_) ranks_->offer(*hello.mutable_programs());
  hello.set_keeps_answers(true);
  hello.set_inputs_beside_bytes(true);
  for (auto const& j : worker_.held.answers_for_hello()) {
    add_columns(*hello.mutable_answers(), j->closure, j->attempt,
                {j->result.bytes, j->result.encoding}, j->ok ? nullptr : &j->why, j->took);
    ++answered_;
  }
  offered_ = worker_.held.offer(std::chrono::steady_clock::now());
  if (offered_.size() > hello.credits()) offered_.resize(hello.credits());
  for (auto const& j : offered_) {
    hello.add_held_closure(j->closure);
    hello.add_held_attempt(j->attempt);
    if (j->slot_returned && !j->finished)
      hello.add_held_waits(static_cast<std::uint32_t>(hello.held_closure_size() - 1));
  }
}

void worker_stream::take_welcome(v1::Welcome const& w) {
  worker_identity me;
  me.job = w.job();
  me.index = w.index();
  worker_.hello.set_last_index(w.index());
  me.slots = worker_.hello.slots();
  me.credits = w.credits();
  me.incarnation = worker_.hello.incarnation();
  me.server = server_;
  me.server_version = w.server_version();
  identity_ = std::make_shared<worker_identity const>(std::move(me));
  objects_.welcomed(identity_);
  welcomed_at_ = std::chrono::steady_clock::now();
  deadline_.cancel();
  if (leave_asked_) limit_leaving();
  beat_interval_ = std::chrono::milliseconds(std::max(1u, w.heartbeat_interval_ms()));
  // The time in which the server detects the loss of this worker, plus its reconnect grace.
  if (w.reconnect_grace_ms() > 0)
    hold_ = 3 * beat_interval_ + std::chrono::milliseconds(w.reconnect_grace_ms());
  if (ranks_) {
    ranks_->welcomed(w.programs(), server_);
    beat_interval_ = std::min(beat_interval_, ranks_->sign_of_life());
  }
  beat();
  for (auto const& j : worker_.held.settle(
           offered_, {w.kept().data(), w.kept().data() + w.kept_size()}, w.acknowledges()))
    answer(*j);
  if (!offered_.empty())
    log(log_level::info, "continuing with " + std::to_string(w.kept_size()) + " of " +
                             std::to_string(offered_.size()) + " closures");
  offered_.clear();
  nested_max_ = w.nested_max();
  if (nested_max_ == 0) worker_.held.clear_waits();
  worker_.threads.set_waiting(worker_.held.waiting());
  log(log_level::info,
      "attached to " + server_ + " as " + identity_->job + ":" + std::to_string(identity_->index));
  take_reports();  // sends reports that were made without a connection
  if (!worker_.held.empty()) report_started();
}

std::string worker_stream::take_closures(v1::ServerMessage& m) {
  int const n = m.closure_size();
  if (worker_.held.size() + static_cast<std::size_t>(n) > identity_->credits)
    return "more closures than credits";
  if (m.attempt_size() != n || m.function_size() != n || m.args_size() != n ||
      (m.encoding_size() != 0 && m.encoding_size() != n) ||
      (m.num_workers_size() != 0 && m.num_workers_size() != n))
    return "columns of unequal length";
  if (m.workers() != 0) workers_ = m.workers();
  proto::sparse_column per_worker(m.per_worker());
  proto::sparse_column inputs(m.inputs());
  std::chrono::steady_clock::time_point quick_since{};
  for (int i = 0; i < n; ++i) {
    auto const* values = per_worker.at(i);
    bool const beside = inputs.at(i) != nullptr;
    if (m.function(i) >= worker_.functions.size()) {
      refuse(m.closure(i), m.attempt(i), failure_kind::stale_handle,
             "this worker has no function with the number " + std::to_string(m.function(i)));
      continue;
    }
    auto const& f = worker_.functions[m.function(i)];
    if (beside) {
      refuse(m.closure(i), m.attempt(i), failure_kind::input,
             "'" + f.name +
                 "' was called with bytes, so it cannot receive outputs of other closures; pass "
                 "JSON arguments instead");
      continue;
    }
    if (f.quick && !values) {
      if (quick_.empty()) quick_since = std::chrono::steady_clock::now();
      run_quick(f, m, i);
      continue;
    }
    auto j = make_job(m, i, values);
    if (worker_.held.add(j)) batch_.push_back(std::move(j));
  }
  if (!quick_.empty()) time_quick(std::chrono::steady_clock::now() - quick_since);
  if (!batch_.empty()) {
    begin(batch_);
    if (!starts_.pending()) report_started();
  }
  batch_.clear();
  return {};
}

void worker_stream::begin(std::vector<std::shared_ptr<job>>& jobs) {
  if (parked_.empty() && !worker_.held.full()) return worker_.threads.push(jobs);
  std::move(jobs.begin(), jobs.end(), std::back_inserter(parked_));
}

void worker_stream::take_acknowledgement(std::uint64_t count) {
  worker_.held.taken(count);
  if (!parked_.empty() && !worker_.held.full()) {
    worker_.threads.push(parked_);
    parked_.clear();
  }
  if (leaving_) stream_.wake();
}

void worker_stream::time_quick(std::chrono::steady_clock::duration all) {
  auto const each = in_us(all) / quick_.size();
  for (auto const& [message, position] : quick_) message->set_execution_us(position, each);
  quick_.clear();
}

void worker_stream::report_started() {
  auto const now = std::chrono::steady_clock::now();
  worker_.held.report_started(now, [this](job const& j, std::chrono::steady_clock::duration ran) {
    auto& m = out_.tail();
    m.add_started_closure(j.closure);
    m.add_started_attempt(j.attempt);
    m.add_started_for_us(in_us(ran));
    stream_.wake();
  });
  report_waits(now);
  if (!worker_.held.empty())
    starts_.call_at(now + held_closures::worth_reporting, [this] { report_started(); });
}

void worker_stream::report_waits(std::chrono::steady_clock::time_point now) {
  if (nested_max_ == 0) return;
  bool changed = false;
  worker_.held.report_waits(now, nested_max_, [&](job const& j, bool waits) {
    auto& m = out_.tail();
    m.add_wait_closure(j.closure);
    m.add_wait_attempt(j.attempt);
    m.add_waits(waits);
    changed = true;
  });
  if (!changed) return;
  worker_.threads.set_waiting(worker_.held.waiting());
  stream_.wake();
}

std::uint32_t worker_stream::workers_of(v1::ServerMessage const& m, int i) const {
  return m.num_workers_size() == 0 || m.num_workers(i) == 0 ? workers_ : m.num_workers(i);
}

std::shared_ptr<job> worker_stream::make_job(v1::ServerMessage& m, int i,
                                             v1::PerWorker const* values) {
  auto j = std::make_shared<job>();
  j->closure = m.closure(i);
  j->attempt = m.attempt(i);
  j->function = &worker_.functions[m.function(i)];
  j->worker = identity_;
  j->workers = workers_of(m, i);
  j->args = {std::move(*m.mutable_args(i)), encoding_at(m.encoding(), i)};
  if (values) {
    j->kept = &worker_.values;
    j->builds = values->builds();
    j->uses.assign(values->uses().begin(), values->uses().end());
  }
  return j;
}

void worker_stream::run_quick(registered_function const& f, v1::ServerMessage const& m, int i) {
  report_buffer::origin const of{m.closure(i), m.attempt(i)};
  closure_reporter reporter(worker_.reports, of);
  context c(*identity_, m.closure(i), m.attempt(i), {}, &reporter);
  c.set_environment(workers_of(m, i), nullptr);
  quick_result_.bytes.clear();
  quick_result_.encoding = encoding::json;
  bool const ok =
      call_function(f, c, {m.args(i), encoding_at(m.encoding(), i)}, quick_result_, quick_failure_);
  worker_.reports.finish(of, out_);
  auto& to = answer(m.closure(i), m.attempt(i), {quick_result_.bytes, quick_result_.encoding},
                    ok ? nullptr : &quick_failure_, {});
  quick_.emplace_back(&to, to.closure_size() - 1);
}

void worker_stream::take_retractions(v1::ServerMessage const& m) {
  for (int i = 0; i < std::min(m.recall_closure_size(), m.recall_attempt_size()); ++i) {
    if (!worker_.held.give_back(m.recall_closure(i), m.recall_attempt(i))) continue;
    auto& back = out_.tail();
    back.add_returned_closure(m.recall_closure(i));
    back.add_returned_attempt(m.recall_attempt(i));
    stream_.wake();
  }
}

void worker_stream::take_stops(v1::ServerMessage const& m) {
  for (int i = 0; i < std::min(m.stop_closure_size(), m.stop_attempt_size()); ++i) {
    if (worker_.held.stop(m.stop_closure(i), m.stop_attempt(i)))
      refuse(m.stop_closure(i), m.stop_attempt(i), failure_kind::cancelled,
             "cancelled before it started");
  }
}

void worker_stream::take(job const& finished) {
  if (identity_ && !input_ended_) answer(finished);
}

void worker_stream::answer(job const& j) {
  worker_.reports.finish({j.closure, j.attempt}, out_);
  answer(j.closure, j.attempt, {j.result.bytes, j.result.encoding}, j.ok ? nullptr : &j.why,
         j.took);
  bool const has_waited = j.slot_returned;
  worker_.held.answered(j, std::chrono::steady_clock::now(), answered_);
  if (has_waited) worker_.threads.set_waiting(worker_.held.waiting());
  stream_.wake();  // a leaving worker can leave once the last answer has been sent
}

void worker_stream::take(machine const& seen) {
  if (!identity_ || input_ended_) return;
  to_wire(seen, *out_.tail().mutable_machine());
  stream_.wake();
}

// The server ignores a stack that was requested on another stream.
void worker_stream::take(v1::TaskStack stack) {
  if (!identity_ || input_ended_) return;
  *out_.tail().add_stack() = std::move(stack);
  stream_.wake();
}

void worker_stream::take_reports() {
  auto const again = worker_.reports.drain(out_, std::chrono::steady_clock::now());
  if (!out_.empty()) stream_.wake();
  if (again && !input_ended_) progress_.call_at(*again, [this] { take_reports(); });
}

void worker_stream::refuse(std::uint64_t closure, std::uint32_t attempt, failure_kind kind,
                           std::string const& why) {
  failure const f{kind, {}, why};
  answer(closure, attempt, {}, &f, {});
}

v1::WorkerMessage& worker_stream::answer(std::uint64_t closure, std::uint32_t attempt,
                                         value_view result, failure const* why,
                                         std::chrono::steady_clock::duration took) {
  auto& m = out_.add_entry(why ? why->message.size() + why->traceback.size() + 40
                               : result.bytes.size() + 20);
  add_columns(m, closure, attempt, result, why, took);
  ++answered_;
  if (m.closure_size() == 1) stream_.wake();
  return m;
}

}  // namespace muster
