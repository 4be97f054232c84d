#include "server/hub/programs/program_clusters.hpp"

#include <algorithm>
#include <utility>

#include "server/history/barriers/stragglers.hpp"
#include "server/hub/id_parsing.hpp"

namespace muster::server {
namespace {

namespace coordination = core::coordination;
using coordination::cluster_spec;

// Returns whether the barrier itself failed, not because of a task's failure or a request.
bool is_own_failure(coordination::barrier_outcome how) {
  using enum coordination::barrier_outcome;
  return how == timed_out || how == miscounted || how == unknown_participant ||
         how == other_participants || how == no_participant;
}

// Returns, for example, "worker:3", or an empty string.
std::string rank_task(cluster_spec const& spec, coordination::task_index task) {
  for (auto const& job : spec.jobs) {
    if (task < job.tasks) return job.name + ":" + std::to_string(task);
    task -= std::min(task, job.tasks);
  }
  return {};
}

// Tasks are numbered like JAX processes, in rank order. Parameter servers and evaluators are
// omitted.
cluster_spec spec_for(core::attempt_sheet const& sheet) {
  cluster_spec spec;
  spec.name = core::text(sheet.program);
  for (auto const& t : sheet.tasks) {
    auto const& type = sheet.spec->tasks[t.group].type;
    if (type == "ps" || type == "evaluator") continue;
    if (spec.jobs.empty() || spec.jobs.back().name != type) spec.jobs.push_back({type});
    ++spec.jobs.back().tasks;
  }
  return spec;
}

std::uint64_t count_of(core::time_point t) {
  return static_cast<std::uint64_t>(t.time_since_epoch().count());
}

std::vector<core::attempt_record::meeting::arrival> arrivals(
    history::lateness::meeting const& m, std::vector<std::uint32_t> const& ranks) {
  std::vector<core::attempt_record::meeting::arrival> all;
  for (std::size_t i = 0; i < m.who->size(); ++i)
    if ((*m.who)[i] < ranks.size()) all.push_back({ranks[(*m.who)[i]], m.arrival_us[i]});
  return all;
}

// Returns the median time between the first and last arrival at a barrier.
core::duration usual_spread(history::lateness const& late, std::string_view id) {
  std::vector<core::duration> spreads;
  for (auto const& m : late.meetings())
    if (m.which.id == id) spreads.push_back(m.spread);
  if (spreads.empty()) return {};
  auto const half = spreads.begin() + static_cast<std::ptrdiff_t>(spreads.size() / 2);
  std::nth_element(spreads.begin(), half, spreads.end());
  return *half;
}

}  // namespace

program_clusters::program_clusters(coordination_hub& all, dependencies d,
                                   program_clusters_limits limits)
    : all_(all), dependencies_(std::move(d)), limits_(limits) {
  all_.follow([this](auto const& c) { fold(c); });
}

program_clusters::~program_clusters() {
  all_.follow([](auto const&) {});
}

void program_clusters::begin(core::attempt_sheet const& sheet) {
  auto& p = programs_[sheet.program];
  if (p.attempt == sheet.attempt) return;
  p = {.attempt = sheet.attempt};
  if (!sheet.tunnels) return;
  auto const done = declare(sheet);
  p.has_cluster = done.ok();
  if (done.ok()) return begin_store(sheet);
  // The previous attempt's cluster is removed, so that new ranks do not use it by mistake.
  end_store(sheet.program);
  if (!of(sheet.program).empty()) dependencies_.remove(of(sheet.program));
  dependencies_.tell({core::coordination::severity::warning,
                      "program_uncoordinated",
                      core::text(sheet.program),
                      {},
                      "attempt " + std::to_string(sheet.attempt) + " of '" + sheet.spec->name +
                          "' has no coordination cluster, so rank 0 provides the coordination "
                          "service for the other ranks: " +
                          done.message});
}

void program_clusters::begin_store(core::attempt_sheet const& sheet) {
  if (sheet.store)
    return torch_.begin(*all_.state().find(core::text(sheet.program)), sheet.program,
                        static_cast<std::uint32_t>(spec_for(sheet).size()));
  end_store(sheet.program);
  if (sheet.spec->store == core::store_place::rank0) return;
  dependencies_.tell({core::coordination::severity::warning,
                      "program_without_store",
                      core::text(sheet.program),
                      {},
                      "attempt " + std::to_string(sheet.attempt) + " of '" + sheet.spec->name +
                          "': rank 0 provides the TCPStore, because the version of a worker does "
                          "not support 'store'"});
}

void program_clusters::end_store(core::program_id program) {
  if (auto const id = all_.state().find(core::text(program))) torch_.end(*id);
}

muster::status program_clusters::declare(core::attempt_sheet const& sheet) {
  auto spec = spec_for(sheet);
  if (spec.jobs.empty())
    return {code::failed_precondition, "it has no tasks that participate in training"};
  if (auto const known = all_.state().find(spec.name)) return all_.renew(*known, std::move(spec));
  if (count() >= limits_.clusters_max)
    return {code::resource_exhausted,
            std::to_string(limits_.clusters_max) +
                " programs have a coordination cluster, which is the limit"};
  auto const made = all_.create(std::move(spec));
  return made ? muster::status{} : made.error();
}

void program_clusters::fold(coordination::changes const& c) {
  c.each([this]<class Change>(coordination::cluster_id of, Change const& one) {
    if constexpr (std::is_same_v<Change, coordination::generation_begun>) {
      if (auto* p = served_by(of)) p->second.has_begun = true;
    } else if constexpr (std::is_same_v<Change, coordination::task_failed>) {
      if (one.casualty || !one.error) return;
      note(of, one.task, core::attempt_event::task_failed, *one.error);
      tell(of, one.task, *one.error);
      if (auto* p = served_by(of)) p->second.failed = p->second.has_begun;
    } else if constexpr (std::is_same_v<Change, coordination::barrier_ended>) {
      if (!one.result || !is_own_failure(one.how)) return;
      note(of, coordination::no_task, core::attempt_event::barrier_failed, *one.result);
      tell(of, coordination::no_task, *one.result);
    }
  });
}

void program_clusters::tell(coordination::cluster_id of, coordination::task_index task,
                            coordination::fault const& why) {
  auto const* p = served_by(of);
  if (!p || !p->second.has_begun || p->second.failed) return;
  core::coordination_failed e{.program = p->first, .attempt = p->second.attempt};
  e.what = {why.code, rank_task(all_.state().spec(of), task), why.message};
  dependencies_.failed(std::move(e));
}

void program_clusters::note(coordination::cluster_id of, coordination::task_index task,
                            core::attempt_event kind, coordination::fault const& why) {
  auto const* p = served_by(of);
  if (!p || !p->second.has_begun) return;
  dependencies_.noted(p->first, p->second.attempt,
                      {{},
                       kind,
                       rank_task(all_.state().spec(of), task),
                       std::string(name(why.code)) + ": " + why.message});
}

program_clusters::lateness program_clusters::late(core::program_id program, std::uint32_t attempt,
                                                  std::vector<std::uint32_t> const& ranks) const {
  lateness found;
  auto const it = programs_.find(program);
  auto const id = all_.state().find(core::text(program));
  if (!id || it == programs_.end() || it->second.attempt != attempt || !it->second.has_begun)
    return found;
  auto const* const met = all_.late().of(*id);
  auto const seen = history::stragglers(met, all_.state().current(*id).views());
  for (auto const& b : seen.barriers) {
    auto const& m = met->meetings()[met->meetings().size() - 1 - found.barriers.size()];
    found.barriers.push_back({b.id, b.counter, b.ended, static_cast<std::uint32_t>(b.participants),
                              b.last, b.host, b.late, b.spread, arrivals(m, ranks)});
  }
  for (auto const& t : seen.tasks)
    found.latecomers.push_back({t.name, t.host, t.last, t.barriers, t.late_mean, t.late_max});
  return found;
}

std::pair<core::program_id const, program_clusters::served>* program_clusters::served_by(
    coordination::cluster_id c) {
  if (!all_.state().exists(c)) return nullptr;
  auto const program = parse_program(all_.state().spec(c).name);
  auto const it = program ? programs_.find(*program) : programs_.end();
  return it == programs_.end() ? nullptr : &*it;
}

std::size_t program_clusters::count() const {
  auto const ids = all_.state().ids();
  return static_cast<std::size_t>(std::count_if(ids.begin(), ids.end(), [this](auto id) {
    return parse_program(all_.state().spec(id).name).has_value();
  }));
}

void program_clusters::changed(core::program_changed const& c) {
  if (c.gone)
    forget(c.program);
  else if (core::ended(c.state))
    ended(c.program);
  listener_(c.program);
}

void program_clusters::restored(core::program_id program, std::uint32_t attempt, bool tunnels,
                                bool over) {
  programs_[program] = {
      .attempt = attempt, .has_cluster = tunnels && !of(program).empty(), .has_begun = true};
  // If the process died just before a generation began, that generation belongs to this attempt.
  if (auto const id = all_.state().find(core::text(program)); id && !over)
    if (auto next = all_.state().view(*id, all_.now()).next)
      (void)all_.renew(*id, std::move(*next));
  if (over) ended(program);
}

void program_clusters::ended(core::program_id program) {
  end_store(program);
  if (!programs_.contains(program) || of(program).empty()) return;
  if (!was_used(program)) return forget(program);
  ended_.push_back(program);
  if (ended_.size() > limits_.ended_max) forget(core::program_id{ended_.front()});
}

bool program_clusters::was_used(core::program_id program) const {
  auto const seen = all_.state().view(*all_.state().find(core::text(program)), all_.now());
  auto const began = [](auto const& g) { return g.started != core::time_point{}; };
  return began(seen.generation) || std::any_of(seen.past.begin(), seen.past.end(), began);
}

void program_clusters::forget(core::program_id program) {
  std::erase(ended_, program);
  end_store(program);
  if (programs_.erase(program) > 0 && !of(program).empty())
    dependencies_.remove(core::text(program));
}

bool program_clusters::serves(core::program_id program, std::uint32_t attempt) const {
  auto const it = programs_.find(program);
  return it != programs_.end() && it->second.attempt == attempt && it->second.has_cluster;
}

std::string program_clusters::of(core::program_id program) const {
  auto name = core::text(program);
  return all_.state().find(name) ? name : std::string();
}

// Heartbeats do not count as activity, because agents send them even when their rank hangs.
void program_clusters::inspect(core::program_id program, std::vector<std::uint32_t> const& ranks,
                               doctor::look& into) const {
  auto const id = all_.state().find(core::text(program));
  if (!id) return;
  auto const views = all_.state().current(*id).views();
  auto const add = [&into](std::uint64_t n) {
    into.activity = (into.activity ^ n) * 1'099'511'628'211u + 1;
  };
  add(views.number);
  add(views.store.all().size());
  add(views.store.bytes());
  auto const* late = all_.late().of(*id);
  if (late && !late->meetings().empty()) add(count_of(late->meetings().back().ended));
  for (auto const& b : views.barriers_from(0, barriers_examined)) {
    if (b.state != coordination::barrier_state::running) break;
    add(count_of(b.started));
    add(b.arrived_count);
    auto const whole = b.arrived_count > 0 ? views.barrier(b.id) : std::nullopt;
    if (!whole) continue;
    doctor::late_barrier one{b.id, b.started, {}, {}, {}};
    one.is_shutdown = b.purpose == coordination::barrier_purpose::shutdown;
    for (auto const& m : whole->missing)
      if (m.task < ranks.size()) one.missing.push_back(ranks[m.task]);
    if (late) one.usual = usual_spread(*late, b.id);
    into.barriers.push_back(std::move(one));
  }
}

void program_clusters::drop_unknown(std::function<bool(core::program_id)> const& known) {
  for (auto const id : all_.state().ids()) {
    auto const name = all_.state().spec(id).name;
    if (auto const program = parse_program(name); program && !known(*program))
      dependencies_.remove(name);
  }
}

}  // namespace muster::server
