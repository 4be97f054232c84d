#include <algorithm>
#include <vector>

#include "server/core/texts/attempt_texts.hpp"
#include "server/core/transitions/lifecycle/lifecycle.hpp"

namespace muster::core {

void lifecycle::count_loss(slot c, bool process_ended) {
  auto& d = *core_.closures[c].details;
  ++d.workers_lost;
  d.processes_ended += process_ended;
}

std::uint32_t lifecycle::counted_losses(session const& s, closure_record const& r) const {
  if (!s.ignores_lost_workers) return r.worker_failures;
  if (!r.details) return 0;
  return r.own_error ? r.details->workers_lost : r.details->processes_ended;
}

std::string lifecycle::text_of_losses(session const& s, closure_record const& r,
                                      std::uint32_t losses) const {
  constexpr std::size_t shown = 3;
  bool const only_processes = s.ignores_lost_workers && !r.own_error;
  bool all_lost = true;
  std::vector<std::string> ends;  // newest first
  for (auto it = r.details->lost.rbegin(); it != r.details->lost.rend(); ++it) {
    if (it->blamed == blame::none || (only_processes && it->blamed != blame::process)) continue;
    bool const lost = it->outcome.how == attempt_end::worker_lost;
    all_lost = all_lost && lost;
    if (ends.size() == shown) continue;
    ends.push_back(core_.places[it->place].worker + " (" +
                   (lost ? it->outcome.detail : text(it->outcome)) + ")");
  }
  auto said = std::to_string(losses) +
              (losses == 1 ? " worker was lost while it ran it" : " workers were lost ") +
              (losses == 1 ? ""
               : all_lost  ? "while they ran it"
                           : "or could not run it") +
              ", and max_worker_failures is " + std::to_string(s.max_worker_failures) + ": ";
  if (losses > ends.size()) said += "the last ";
  for (auto it = ends.rbegin(); it != ends.rend(); ++it)
    said.append(it == ends.rbegin() ? "" : ", ").append(*it);
  return said;
}

duration lifecycle::pause_after_loss(std::uint32_t losses) const {
  auto pause = core_.step.config.loss_pause;
  for (std::uint32_t i = 1; i < losses && pause < core_.step.config.loss_pause_max; ++i) pause *= 2;
  return std::min(pause, core_.step.config.loss_pause_max);
}

void lifecycle::run_alone_after(slot c, std::uint32_t limit, std::string const& worker) {
  auto& r = core_.closures[c];
  auto& d = *r.details;
  if (d.workers_lost < limit || r.exclusive) return;
  run_alone(c);
  auto const id = core_.closures.id_of(c);
  auto const& called = core_.book.functions[r.function].name;
  core_.step.report_incident(incidents::closure_exclusive{id, called, d.workers_lost, worker});
  if (auto const& s = core_.sessions.of(r.owner); s.traits().generations)
    core_.step.fx.notices.push_back(
        {s.id,
         notice_kind::suspect,
         s.generation,
         {failure_kind::worker_lost, called, {}, {}, worker, d.workers_lost},
         id});
}

void lifecycle::run_alone(slot c) {
  auto& r = core_.closures[c];
  r.exclusive = true;
  r.with_details().exclusive_since = core_.step.now;
  core_.scheduler.exclusives.add(core_.closures.id_of(c), core_.step.now);
}

void lifecycle::undo_loss(slot c) {
  auto& r = core_.closures[c];
  if (r.worker_failures > 0 && r.worker_failures < worker_failures_max) --r.worker_failures;
  if (!r.details || r.details->workers_lost == 0) return;
  --r.details->workers_lost;
  bool const pauses = r.is(closure_phase::delayed) && r.is_blamed_for_last_loss();
  auto const blamed =
      std::find_if(r.details->lost.rbegin(), r.details->lost.rend(),
                   [](attempt_record const& a) { return a.blamed == blame::worker; });
  if (blamed != r.details->lost.rend()) blamed->blamed = blame::none;
  if (pauses) {
    core_.step.alarms.clear(r.details->start_at, alarm_kind::start, raw(core_.closures.id_of(c)));
    start_delay_elapsed(c, queue_end::head);
  }
  if (r.details->workers_lost >= exclusive_after || !r.exclusive) return;
  bool const waited = r.is(closure_phase::gathering);
  if (waited) {
    core_.scheduler.end_exclusive_wait(c, core_.step.now);
    core_.book.end_deferral(c);
  }
  stop_being_exclusive(c);
  if (waited) core_.scheduler.push_front(c);
}

void lifecycle::stop_being_exclusive(slot c) {
  core_.scheduler.not_exclusive(c);
  core_.closures[c].exclusive = false;
}

}  // namespace muster::core
