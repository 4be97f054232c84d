#include "server/hub/programs/program_doctor.hpp"

#include <algorithm>
#include <utility>

#include "server/core/programs/controller.hpp"
#include "server/hub/hub.hpp"

namespace muster::server {
void program_doctor::update(std::vector<core::program_changed> const& changes) {
  for (auto const& c : changes) {
    auto const it = all_.find(c.program);
    bool const runs = !c.gone && c.state == core::program_state::running;
    if (it != all_.end() && (!runs || it->second.attempt != c.attempt)) all_.erase(it);
    if (runs && !all_.contains(c.program)) begin(c.program);
  }
  find_due();
}

// A single rank waits for no other rank, so a lack of progress proves nothing. Such a program is
// watched only if its owner requests more than a report.
void program_doctor::begin(core::program_id id) {
  if (all_.size() >= programs_max) return;
  auto const& programs = hub_.state().programs();
  auto const p = programs.find(id);
  auto ranks = programs.ranks(id);
  if (!p || !ranks || p->spec.on_hang == core::hang_policy::off) return;
  std::vector<bool> which;
  for (auto const& r : *ranks) which.push_back(program_clusters::trains(r));
  auto const count = std::count(which.begin(), which.end(), true);
  if (count == 0 || (count == 1 && p->spec.on_hang == core::hang_policy::tell)) return;
  auto& made =
      all_.emplace(id, watched_program(doctor::hang_watch(hub_.now(), p->spec.hang_after, which)))
          .first->second;
  made.attempt = p->attempt;
  if (p->hang) {
    auto was = *p->hang;
    was.waiting.clear();  // hang_of adds the names again
    made.watch.restore(std::move(was));
  }
  for (auto const& r : *ranks)
    if (program_clusters::trains(r)) made.training.push_back(r.rank);
  made.ranks = std::move(*ranks);
}

void program_doctor::query_vitals(core::program_id id, watched_program& p) {
  auto const now = hub_.now();
  p.asked_at = now;
  p.vitals.clear();
  p.awaited.clear();
  if (auto const ranks = hub_.state().programs().ranks(id))
    for (auto const& r : *ranks)
      if (r.ended != core::never && r.state == core::rank_state::succeeded)
        p.watch.ended(now, r.rank);
  std::map<core::stream_id, vitals_query> queries;
  for (auto const rank : p.training) {
    auto const stream = hub_.workers().stream_of({id, p.attempt, rank});
    if (stream == core::stream_id{}) continue;
    queries.try_emplace(stream, vitals_query{0, id, p.attempt, {}})
        .first->second.ranks.push_back(rank);
  }
  for (auto& [stream, q] : queries) {
    auto* const sink = hub_.workers().sink(stream);
    if (!sink) continue;
    q.number = ++last_;
    sink->on_vitals_query(q);
    p.awaited.emplace(q.number, watched_program::question{stream, std::move(q.ranks)});
  }
}

void program_doctor::deliver(core::stream_id stream, vitals_answer answer) {
  for (auto& [id, p] : all_) {
    auto const it = p.awaited.find(answer.number);
    if (it == p.awaited.end()) continue;
    if (it->second.stream != stream) return;
    auto const asked = std::move(it->second.ranks);
    p.awaited.erase(it);
    for (auto& v : answer.ranks)
      if (std::binary_search(asked.begin(), asked.end(), v.rank)) p.vitals.push_back(std::move(v));
    find_due();
    return hub_.follow_deadlines();
  }
}

void program_doctor::forget_worker(core::stream_id stream) {
  for (auto& [id, p] : all_)
    std::erase_if(p.awaited, [stream](auto const& a) { return a.second.stream == stream; });
  find_due();
}

core::time_point program_doctor::due(watched_program const& p) const {
  constexpr core::time_point at_once{};
  if (p.round) return p.round_is_over ? at_once : *p.asked_at + patience;
  if (p.asked_at) return p.awaited.empty() ? at_once : *p.asked_at + patience;
  return p.watch.due();
}

void program_doctor::find_due() {
  due_ = core::never;
  for (auto const& [id, p] : all_) due_ = std::min(due_, due(p));
}

void program_doctor::tick() {
  auto const now = hub_.now();
  if (due_ > now) return;
  std::vector<core::program_id> ready;
  for (auto const& [id, p] : all_)
    if (due(p) <= now) ready.push_back(id);
  // A report to the core can remove a program from `all_`.
  for (auto const id : ready) {
    auto const it = all_.find(id);
    if (it == all_.end()) continue;
    auto& p = it->second;
    if (p.round)
      evaluate_stacks(id, p);
    else if (p.asked_at)
      evaluate_vitals(id, p);
    else
      query_vitals(id, p);
  }
  find_due();
}

void program_doctor::evaluate_vitals(core::program_id id, watched_program& p) {
  doctor::look l;
  l.vitals = std::exchange(p.vitals, {});
  p.awaited.clear();
  p.asked_at = {};
  hub_.programs().inspect_cluster(id, p.training, l);
  auto const& steps = hub_.programs().steps().table();
  for (auto& v : l.vitals)
    if (auto const reached = steps.progress(id, p.attempt, v.rank)) v.step = reached->step;
  if (auto const all = steps.whole(id, p.attempt, false)) l.usual_step = all->took;
  auto const a = p.watch.looked(hub_.now(), std::move(l));
  if (a.stacks) query_stacks(id, p);
  report(id, p, a.news);
}

void program_doctor::query_stacks(core::program_id id, watched_program& p) {
  p.asked_at = hub_.now();
  p.round_is_over = false;
  auto const round = hub_.workers().begin_stacks({0, id, p.attempt, p.training});
  p.round = round;
  hub_.workers().stacks().await(round, [this, id, round] {
    auto const it = all_.find(id);
    if (it == all_.end() || it->second.round != round) return;
    it->second.round_is_over = true;
    find_due();
    hub_.follow_deadlines();
  });
}

void program_doctor::evaluate_stacks(core::program_id id, watched_program& p) {
  std::vector<doctor::rank_stack> stacks;
  for (auto& s : hub_.workers().stacks().end(*std::exchange(p.round, {})))
    stacks.push_back(
        {s.rank, own_stack(s.text), std::move(s.process), s.state != core::stack_state::taken});
  p.asked_at = {};
  report(id, p, p.watch.stacks(hub_.now(), std::move(stacks)));
}

std::optional<core::hang> program_doctor::hang_of(core::program_id id) const {
  auto const it = all_.find(id);
  if (it == all_.end() || !it->second.watch.found()) return {};
  auto const& p = it->second;
  auto h = *p.watch.found();
  if (h.rank >= 0 && static_cast<std::size_t>(h.rank) < p.ranks.size()) {
    auto const& r = p.ranks[static_cast<std::size_t>(h.rank)];
    h.task = r.task;
    h.host = r.host;
  }
  for (auto const rank : p.watch.waiting())
    if (h.waiting.size() < core::hang::waiting_shown) h.waiting.push_back(p.ranks[rank].task);
  return h;
}

std::vector<core::program_id> program_doctor::hanging(std::size_t limit) const {
  std::vector<std::pair<core::time_point, core::program_id>> found;
  for (auto const& [id, p] : all_)
    if (p.watch.found()) found.emplace_back(p.watch.found()->found, id);
  std::sort(found.begin(), found.end());
  std::vector<core::program_id> ids;
  for (auto const& [at, id] : found)
    if (ids.size() < limit) ids.push_back(id);
  return ids;
}

void program_doctor::report(core::program_id id, watched_program& p, doctor::hang_change news) {
  using severity = event_publisher::severity;
  if (news == doctor::hang_change::none) return;
  auto const program = hub_.state().programs().find(id);
  if (!program) return;
  auto const& name = program->spec.name;
  auto const& events = hub_.events();
  history::black_box::name const which{id, p.attempt};
  if (news == doctor::hang_change::over) {
    hub_.programs().record_event(which, {{}, core::attempt_event::progress_resumed, {}, {}});
    hub_.apply(core::program_hangs{.program = id, .attempt = which.attempt, .over = true});
    return events.publish(events.to_log, severity::info, "program_moves_again", core::text(id),
                          "'" + name + "' makes progress again after it was reported as hanging");
  }
  auto const what = *hang_of(id);
  events.publish(events.to_log, severity::warning, "program_hangs", core::text(id),
                 "'" + name + "' hangs: " + core::text(what));
  hub_.programs().record_event(
      which, {what.since, core::attempt_event::hangs, what.task, core::text(what)});
  hub_.apply(core::program_hangs{id, which.attempt, what});  // may remove `p`
}

}  // namespace muster::server
