// Performs each step and hands its effects on: replies last, since who gets one may ask again.
#include "server/hub/hub.hpp"

#include <utility>

namespace muster::server {

hub::hub(core::config config, hub_environment environment, log_limits limits)
    : environment_(std::move(environment)),
      core_(environment_.pool.wide
                ? core::coordinator(config, environment_.now(), *environment_.pool.wide)
                : core::coordinator(config, environment_.now())),
      logs_(limits, environment_.pool.calls_above),
      calls_(environment_.pool.calls_above) {}

void hub::close(std::string const& why) {
  muster::status const gone{muster::code::not_found, why};
  if (environment_.move_values) environment_.move_values(core_.forget_spilled());
  if (auto const jobs = core_.forget_durable(); !jobs.empty()) environment_.write_down(jobs);
  apply(core::stop{why});
  for (auto const& [stream, sink] : std::exchange(workers_, {})) sink->on_disconnect(gone, true);
  for (auto const& [session, sink] : std::exchange(sessions_, {})) sink->on_gone(gone);
}

void hub::report(core::stream_id stream, log_line line) {
  auto const held = core_.held(stream, line.closure, line.attempt);
  if (!held) return logs_.count_stray();
  line.index = held->index;
  logs_.add(held->job, std::move(line));
}

void hub::report(core::stream_id stream, core::closure_id closure, closure_progress progress) {
  auto const held = core_.held(stream, closure, progress.attempt);
  if (!held) return logs_.count_stray();
  logs_.set_progress(held->job, closure, std::move(progress));
}

hub::learned hub::learn(std::vector<std::string> names) {
  auto const answer = ask_now(core::learn_functions{{}, std::move(names)});
  return {answer.status, std::get<core::functions_reply>(answer.body).ids};
}

void hub::forget(core::call_id call) {
  if (calls_.forget(call)) apply(core::call_gone{call});
}

core::stream_id hub::attach(worker_sink& sink) {
  auto const stream = core::stream_id{++last_stream_};
  workers_.emplace(stream, &sink);
  return stream;
}

void hub::detach(core::stream_id stream) {
  workers_.erase(stream);
}

void hub::tell_attached(core::welcome const& w) {
  if (!environment_.tell) return;
  auto const& name =
      names_.insert_or_assign(w.stream, w.job + ":" + std::to_string(w.index)).first->second;
  environment_.tell({core::coordination::severity::info, "worker_attached", environment_.cluster,
                     name, "attached"});
}

// A worker that is away, or is back already, is the core's to speak of.
void hub::tell_gone(core::stream_id stream, bool clean, std::string const& reason,
                    core::effects const& fx) {
  auto const node = names_.extract(stream);
  if (!node || !environment_.tell) return;
  for (auto const& r : fx.remarks)
    if (r.about == node.mapped()) return;
  using core::coordination::severity;
  environment_.tell({clean ? severity::info : severity::warning,
                     clean ? "worker_left" : "worker_lost", environment_.cluster, node.mapped(),
                     reason});
}

void hub::pass_on(core::remark const& r) {
  if (!environment_.remark) return;
  using core::remark_kind;
  using core::coordination::severity;
  bool const good = r.kind == remark_kind::worker_returned ||
                    r.kind == remark_kind::task_cordoned || r.kind == remark_kind::task_uncordoned;
  bool const over = r.kind == remark_kind::job_failed || r.kind == remark_kind::session_failed;
  environment_.remark({good   ? severity::info
                       : over ? severity::error
                              : severity::warning,
                       std::string(core::name(r.kind)), environment_.cluster, r.about, r.text});
}

void hub::attach(core::session_id session, session_sink& sink) {
  auto& serving = sessions_[session];
  if (serving) serving->on_taken_over();
  serving = &sink;
}

void hub::detach(core::session_id session) {
  sessions_.erase(session);
}

// Outcomes come in runs of one session, so it is looked up once a run.
void hub::deliver_outcomes(core::effects const& fx) {
  session_sink* sink = nullptr;
  core::session_id of{};
  for (auto const& o : fx.outcomes) {
    if (o.session != of) {
      auto const it = sessions_.find(o.session);
      sink = it == sessions_.end() ? nullptr : it->second;
      of = o.session;
    }
    if (sink) sink->on_outcome(o);
  }
}

void hub::deliver_notices(core::effects const& fx, bool failed) {
  for (auto const& n : fx.notices) {
    if ((n.kind == core::notice_kind::failed) != failed) continue;
    if (auto const it = sessions_.find(n.session); it != sessions_.end()) it->second->on_notice(n);
  }
}

// Replies go last; by then everything else has been handed over. See reply_table.
void hub::deliver(core::effects const& fx) {
  auto const sink_of = [this](core::stream_id id) -> worker_sink* {
    auto const it = workers_.find(id);
    return it == workers_.end() ? nullptr : it->second;
  };
  for (auto const& w : fx.welcomes) {
    tell_attached(w);
    if (auto* sink = sink_of(w.stream)) sink->on_welcome(w);
  }
  for (auto const& d : fx.dispatches)
    if (auto* sink = sink_of(d.stream))
      sink->on_dispatch(std::span(fx.assignments).subspan(d.first, d.count));
  for (auto const& s : fx.stop_requests)
    if (auto* sink = sink_of(s.stream)) sink->on_stop(s);
  for (auto const& r : fx.recalls)
    if (auto* sink = sink_of(r.stream)) sink->on_recall(r);
  for (auto const& d : fx.drop_requests)
    if (auto* sink = sink_of(d.stream)) sink->on_drop(d.value);
  for (auto const& d : fx.drain_requests)
    if (auto* sink = sink_of(d.stream)) sink->on_drain();
  for (auto const& d : fx.disconnects) tell_gone(d.stream, false, d.status.message, fx);
  for (auto const& r : fx.remarks) pass_on(r);
  if (!fx.value_moves.empty() && environment_.move_values) environment_.move_values(fx.value_moves);
  for (auto const& d : fx.disconnects)
    if (auto node = workers_.extract(d.stream)) node.mapped()->on_disconnect(d.status, d.final);
  // An error is told before what it cancelled, an end after what has ended.
  deliver_notices(fx, true);
  deliver_outcomes(fx);
  for (auto const s : fx.released) logs_.release(s);
  deliver_notices(fx, false);

  alarm_.follow(core_.next_deadline(), environment_.arm);
  if (environment_.pool.over_budget && core_.server_keeps_too_much())
    environment_.pool.over_budget();
  if (!fx.facts.empty()) environment_.write_down(fx.facts);
  if (!fx.replies.empty()) answer(fx);
}

// Replies wait until the disk has what they may rest on, those of ask_now excepted.
void hub::answer(core::effects const& fx) {
  bool const changed = !fx.facts.empty();
  auto* const line = environment_.line;
  if (!line || (line->idle() && !changed)) return calls_.deliver(fx.replies);
  std::vector<core::reply> prompt, later;
  for (auto const& r : fx.replies) (r.call == prompt_ ? prompt : later).push_back(r);
  if (!later.empty())
    line->hold(changed, [this, alive = std::weak_ptr(alive_),
                         later = std::move(later)](muster::status const& lost) mutable {
      if (alive.expired()) return;
      for (auto& r : later)
        if (!lost.ok()) r.status = lost, r.body = {};
      calls_.deliver(std::move(later));
    });
  calls_.deliver(std::move(prompt));
}

muster::status hub::journal_refusal() const {
  if (!environment_.line) return {};
  if (!environment_.line->failed().ok()) return environment_.line->failed();
  if (!environment_.journal_is_full || !environment_.journal_is_full()) return {};
  return {muster::code::resource_exhausted,
          "the disk of --data-dir is behind or full: too much waits to be written to the journal, "
          "or less than its reserve is free; try again, or submit with durable: false"};
}

}  // namespace muster::server
