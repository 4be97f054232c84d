#include "server/rpc/workers/worker_connection.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "server/core/queries/closure_queries.hpp"
#include "server/core/queries/worker_queries.hpp"
#include "server/hub/blob_store.hpp"
#include "server/rpc/call_access.hpp"
#include "server/rpc/workers/machine_convert.hpp"
#include "server/rpc/workers/rank_convert.hpp"
#include "server/rpc/workers/worker_convert.hpp"
#include "server/rpc/workers/worker_hello.hpp"

namespace muster::server {
namespace {

constexpr std::uint32_t no_number = ~std::uint32_t{0};

}  // namespace

worker_connection::worker_connection(call& c, pools& all, stream_options const& options)
    : message_stream(c, options.finish_grace),
      pools_(all),
      options_(options),
      task_(std::make_shared<std::string const>()) {}

coro::task<void> worker_connection::run() {
  return serve("hello", options_.first_message_timeout);
}

void worker_connection::shut_down() {
  if (ended()) return;
  leave_hub(false, hub::shutdown_reason);
  end({grpc::StatusCode::UNAVAILABLE, hub::shutdown_reason});
}

void worker_connection::refused(muster::status const& why) {
  leave_hub(false, "protocol error: " + why.message);
}

muster::status worker_connection::take(v1::WorkerMessage const& m) {
  if (!greeted_) {
    if (!m.has_hello()) return invalid("hello: must be the first message");
    if (auto problem = take_hello(m.hello()); !problem.ok()) return problem;
  } else if (m.has_hello()) {
    return invalid("hello: must be sent only once");
  }
  // Reports of processes are handled before answers, because an answer ends the closure that a
  // report is about.
  if (attached_)
    if (auto problem = take_reports(m, stream_, task_, *hub_); !problem.empty())
      return invalid(problem);
  if (auto problem = take_results(m); !problem.ok()) return problem;
  if (auto problem = take_ranks(m); !problem.ok()) return problem;
  if (auto problem = take_objects(m); !problem.ok()) return problem;
  for (auto const& s : m.stack())
    if (attached_) hub_->workers().task_stacks().deliver(stream_, s.query(), from_wire(s));
  if (m.has_machine() && attached_) {
    auto seen = from_wire(m.machine());
    if (!seen) return seen.error();
    seen->host = host_;
    hub_->report(stream_, std::move(*seen));
  }
  // The confirmation tells the worker that all earlier messages were already sent.
  if (m.drain() && attached_) {
    leave_asked_ = true;
    hub_->apply(core::worker_drain{stream_, true});
  }
  if (m.has_process_end() && attached_) return take_process_end(m.process_end());
  return {};
}

muster::status worker_connection::take_hello(v1::Hello const& hello) {
  auto const found = pool_of_call(pools_, options_, call_.context(), hello.cluster());
  if (!found) return {found.error().code, "hello.cluster: " + found.error().message};
  hub_ = *found;
  auto spec = from_wire(hello, hub_->state().configuration());
  if (!spec) return spec.error();
  auto held = held_from_wire(hello);
  if (!held) return held.error();
  auto answers = answers_from_wire(hello);
  if (!answers) return answers.error();
  auto offer = offer_from_wire(hello);
  if (!offer) return offer.error();
  auto const [wrong, ids] = hub_->learn(spec->functions);
  if (!wrong.ok())
    return {wrong.code, "hello.function[" + std::to_string(ids.size()) + "]: " + wrong.message};
  for (std::uint32_t i = 0; i < ids.size(); ++i) {
    auto const at = core::raw(ids[i]);
    if (at >= numbers_.size()) numbers_.resize(at + 1, no_number);
    numbers_[at] = i;
  }
  greeted_ = true;
  greeted();
  attached_ = true;
  stream_ = hub_->attach(*this);
  results_.stream = stream_;
  spdlog::debug("worker sent hello peer={} host={} pid={} slots={} credits={} functions={}",
                call_.context().peer(), spec->host, spec->pid, spec->slots, spec->credits,
                spec->functions.size());
  inputs_beside_bytes_ = hello.inputs_beside_bytes();
  acknowledges_ = hello.keeps_answers() && hub_->state().configuration().durable;
  answered_ = answers->size();
  auto const naming = naming_blobs(*answers);
  takes_ranks_ = offer->has_value();
  takes_objects_ = hello.objects();
  incarnation_ = spec->incarnation;
  host_ = spec->host;
  core::worker_attached event{stream_, std::move(*spec), std::move(*held), std::move(*answers),
                              std::move(*offer)};
  hub_->apply(event);
  if (attached_ && index_ >= 0) objects_attached(index_);
  if (attached_ && takes_ranks_) hub_->programs().steps().resume_worker(stream_);
  // The worker may repeat answers that it sent on an earlier stream.
  last_batch_ = hub_->gate().written();
  for (auto const& closure : naming) keep_blob_of(closure);
  if (acknowledges_ && answered_ > 0 && attached_) acknowledge();
  return {};
}

muster::status worker_connection::take_results(v1::WorkerMessage const& m) {
  if (!attached_) return {};
  results_.results.clear();
  results_.started.clear();
  results_.returned.clear();
  results_.waits.clear();
  if (auto problem = from_wire(m, results_); !problem.empty()) return invalid(problem);
  auto const gone = results_.results.size() + results_.returned.size();
  if (gone + results_.started.size() + results_.waits.size() == 0) {
    hub_->apply(core::worker_alive{stream_});
  } else {
    outstanding_ -= std::min(outstanding_, gone);
    auto const answers = results_.results.size();
    auto const naming = naming_blobs(results_.results);
    auto const before = hub_->gate().written();
    hub_->apply(results_);
    // Answers without records do not wait for the journal.
    if (hub_->gate().written() != before) last_batch_ = hub_->gate().written();
    for (auto const& closure : naming) keep_blob_of(closure);
    answered_ += answers;
    if (acknowledges_ && answers > 0) acknowledge();
  }
  return {};
}

muster::status worker_connection::take_ranks(v1::WorkerMessage const& m) {
  if (!m.has_ranks() || !attached_) return {};
  if (!takes_ranks_) return invalid("ranks: the hello message did not offer to run programs");
  core::rank_reports reports{stream_};
  if (auto problem = from_wire(m.ranks(), reports); !problem.empty()) return invalid(problem);
  std::vector<doctor::step_table::report> steps;
  if (auto problem = from_wire(m.ranks().steps(), steps); !problem.empty()) return invalid(problem);
  auto& programs = hub_->programs();
  auto& workers = hub_->workers();
  for (auto const& s : m.ranks().last_stacks()) {
    auto killed = from_wire(s);
    programs.record_stacks(stream_, {killed.program, killed.attempt}, std::move(killed.where));
  }
  hub_->apply(reports);
  for (auto& report : steps) programs.steps().record(stream_, std::move(report));
  if (!reports.ended.empty()) programs.steps().record_ends(reports);
  for (auto const& held : m.ranks().held_steps())
    programs.steps().deliver(stream_, from_wire(held));
  for (auto log : m.ranks().log()) {
    auto const query = log.query();
    workers.logs().deliver(stream_, query, from_wire(std::move(log)));
  }
  for (auto const& lines : m.ranks().last_lines())
    workers.lines().deliver(stream_, from_wire(lines));
  for (auto const& all : m.ranks().vitals()) programs.doctor().deliver(stream_, from_wire(all));
  for (auto const& all : m.ranks().stacks()) workers.stacks().deliver(stream_, from_wire(all));
  return {};
}

muster::status worker_connection::take_process_end(v1::ProcessEnd const& e) {
  constexpr std::size_t how_bytes_max = 512;
  if (e.how().size() > how_bytes_max)
    return invalid("process_end.how: " + std::to_string(e.how().size()) + " bytes, the limit is " +
                   std::to_string(how_bytes_max));
  core::held_closure const executed{core::closure_id{e.closure()}, e.attempt()};
  leave_hub(false, e.how(), false, executed);
  end({grpc::StatusCode::ABORTED, "the worker's process has ended; reconnect with a new process"});
  return {};
}

void worker_connection::acknowledge() {
  // Answers received since the current write began are acknowledged after it.
  if (awaited_ > 0) return;
  awaited_ = answered_;
  hub_->gate().when_durable(last_batch_, [this, alive = std::weak_ptr(alive_)] {
    if (alive.expired()) return;
    auto const taken = std::exchange(awaited_, 0);
    if (!attached_) return;
    out_.tail().set_answers_taken(taken);
    wake();
    if (taken < answered_) acknowledge();
  });
}

std::vector<core::closure_id> worker_connection::naming_blobs(
    std::vector<core::worker_result> const& results) const {
  std::vector<core::closure_id> found;
  if (!options_.blobs) return found;
  for (auto const& r : results)
    if (r.ok && names_blob(r.value.view())) found.push_back(r.closure);
  return found;
}

// Uses the value that the core has stored, because the answer may have arrived too late.
void worker_connection::keep_blob_of(core::closure_id closure) {
  auto const view = hub_->state().closures().find(closure);
  if (!view || view->state != core::closure_state::succeeded) return;
  if (auto const hash = blob_named_by(view->data.view()); !hash.empty())
    options_.blobs->name(closure, hash);
}

void worker_connection::input_ended() {
  if (!greeted_) return end(to_grpc(invalid("hello: required, but the stream ended first")));
  half_closed_ = true;
  end(grpc::Status::OK);
}

// The input ends after a half-close and after a broken connection. In both cases, a worker that
// requested to leave and has no closures has left; it may have exited before its status was sent.
// Other workers have left if the status was sent.
void worker_connection::finished(bool sent) {
  if (!half_closed_) return;
  if ((leave_asked_ && outstanding_ == 0) || (sent && !call_.cancelled()))
    leave_hub(true, "left");
  else
    connection_lost();
}

void worker_connection::leave_hub(bool clean, std::string reason, bool may_return,
                                  std::optional<core::held_closure> process_ended) {
  if (!std::exchange(attached_, false)) return;
  hub_->detach(stream_);
  spdlog::log(clean ? spdlog::level::info : spdlog::level::warn,
              "worker gone task={} clean={} reason=\"{}\"", *task_, clean, reason);
  hub_->apply(
      core::worker_disconnected{stream_, clean, std::move(reason), may_return, process_ended});
}

void worker_connection::connection_lost() {
  // A worker that requested to leave does not reconnect.
  leave_hub(false, "connection lost", !leave_asked_);
}

void worker_connection::on_welcome(core::welcome const& w) {
  job_ = w.job;
  index_ = w.index;
  task_ = std::make_shared<std::string const>(w.job + ":" + std::to_string(w.index));
  spdlog::info("worker attached task={} credits={} peer={}", *task_, w.credits,
               call_.context().peer());
  auto& welcome = *out_.tail().mutable_welcome();
  welcome.set_job(w.job);
  welcome.set_index(static_cast<std::uint32_t>(w.index));
  welcome.set_heartbeat_interval_ms(static_cast<std::uint32_t>(
      std::chrono::ceil<std::chrono::milliseconds>(w.heartbeat_interval).count()));
  welcome.set_server_incarnation(options_.server_incarnation());
  welcome.set_credits(w.credits);
  welcome.set_nested_max(w.nested_max);
  welcome.set_takes_process_end(true);
  welcome.set_server_version(options_.server_version);
  welcome.mutable_kept()->Add(w.kept.begin(), w.kept.end());
  welcome.set_reconnect_grace_ms(static_cast<std::uint32_t>(
      std::chrono::ceil<std::chrono::milliseconds>(w.reconnect_grace).count()));
  welcome.set_acknowledges(acknowledges_);
  if (w.kept_ranks)
    welcome.mutable_programs()->mutable_kept()->Add(w.kept_ranks->begin(), w.kept_ranks->end());
  if (w.kept_ranks) welcome.mutable_programs()->set_agrees_on_steps(true);
  outstanding_ += w.kept.size();
  out_.seal();
  wake();
}

void worker_connection::on_dispatch(std::span<core::assignment const> batch) {
  outstanding_ += batch.size();
  auto const& state = hub_->state();
  if (auto const version = state.workers().tasks_version(); version != tasks_version_) {
    tasks_version_ = version;
    if (auto const now = state.workers().tasks_of(job_); now != workers_sent_)
      out_.tail().set_workers(workers_sent_ = now);
  }
  for (auto const& a : batch)
    to_wire(a, numbers_[core::raw(a.function)], inputs_beside_bytes_, out_);
  wake();
}

// The stop is added to the last message, so that it never overtakes its closure. on_retract uses
// the same rule.
void worker_connection::on_stop(core::stop_request const& s) {
  auto& last = out_.tail();
  last.add_stop_closure(core::raw(s.closure));
  last.add_stop_attempt(s.attempt);
  wake();
}

void worker_connection::on_retract(core::retract_request const& r) {
  auto& last = out_.tail();
  last.add_recall_closure(core::raw(r.closure));
  last.add_recall_attempt(r.attempt);
  wake();
}

void worker_connection::on_drop(core::per_worker_id value) {
  out_.tail().add_drop_per_worker(core::raw(value));
  wake();
}

// A worker processes the stop requests in a message before the start requests. Pending start
// requests are therefore sent in an earlier message.
void worker_connection::on_rank_orders(core::rank_orders const& o) {
  bool const after_others = !o.stops.empty() || !o.forget.empty();
  if (after_others && out_.tail().ranks().start_size() > 0) out_.seal();
  auto& orders = *out_.tail().mutable_ranks();
  to_wire(o, orders);
  for (auto& s : *orders.mutable_start()) {
    s.set_coordinated(hub_->programs().has_cluster(core::program_id{s.program()}, s.attempt()));
    s.set_torch_store(s.torch_store() && s.coordinated());
  }
  wake();
}

void worker_connection::on_log_query(rank_log_query const& q) {
  to_wire(q, *out_.tail().mutable_ranks()->add_read());
  wake();
}

void worker_connection::on_lines_query(last_lines_query const& q) {
  to_wire(q, *out_.tail().mutable_ranks()->add_last_lines());
  wake();
}

void worker_connection::on_vitals_query(vitals_query const& q) {
  to_wire(q, *out_.tail().mutable_ranks()->add_vitals());
  wake();
}

void worker_connection::on_stacks_query(stacks_query const& q) {
  to_wire(q, *out_.tail().mutable_ranks()->add_stacks());
  wake();
}

void worker_connection::on_hold_steps(doctor::hold_steps const& order) {
  to_wire(order, *out_.tail().mutable_ranks()->add_hold_steps());
  wake();
}

void worker_connection::on_stop_after(doctor::stop_after const& order) {
  to_wire(order, *out_.tail().mutable_ranks()->add_stop_after_step());
  wake();
}

// The query is sent alone, so that it does not delay closures.
void worker_connection::on_stack_query(std::uint64_t number) {
  if (!out_.empty()) out_.seal();
  out_.tail().add_read_stack(number);
  out_.seal();
  wake();
}

void worker_connection::on_drain() {
  out_.tail().set_drain(true);
  wake();
}

void worker_connection::on_disconnect(muster::status const& why, bool final) {
  attached_ = false;
  spdlog::warn("worker disconnected task={} code={} final={} reason=\"{}\"", *task_, name(why.code),
               final, why.message);
  if (ended()) return;
  if (final) call_.context().AddTrailingMetadata("muster-final", "1");
  end(to_grpc(why));
}

}  // namespace muster::server
