#include "server/core/coordination/clusters.hpp"

#include "base/check.hpp"

namespace muster::core::coordination {
namespace {

constexpr std::string_view service_type = "standalone";

}  // namespace

clusters::clusters(limits l, std::uint64_t seed) : limits_(l), incarnations_(seed) {}

clusters::entry& clusters::entry_of(cluster_id c) {
  auto const it = all_.find(c);
  check(it != all_.end(), "the cluster must exist");
  return it->second;
}

status clusters::allowed(cluster_spec const& spec) const {
  if (stopped_) return {code::unavailable, "the server is shutting down"};
  if (auto const valid = validate(spec); !valid.ok()) return valid;
  if (spec.service_type != service_type)
    return wrong_field("type", "unknown service type '" + spec.service_type +
                                   "'; the only supported type is '" + std::string(service_type) +
                                   "'");
  std::uint64_t tasks = 0;
  for (auto const& j : spec.jobs) tasks += j.tasks;
  if (tasks > limits_.tasks_max)
    return wrong_field("jobs",
                       "declare " + std::to_string(tasks) + " tasks in total; the limit is " +
                           std::to_string(limits_.tasks_max),
                       limits_.tasks_max);
  return {};
}

status clusters::room_for(std::string const& name) const {
  if (by_name_.contains(name))
    return {code::already_exists, "cluster '" + name + "' already exists"};
  if (all_.size() >= limits_.clusters_max)
    return {code::resource_exhausted, "the server has reached its limit of " +
                                          std::to_string(limits_.clusters_max) + " clusters"};
  return {};
}

clusters::entry* clusters::made(cluster_spec const& spec, bool known) {
  fx_.declared = allowed(spec);
  if (fx_.declared.ok()) fx_.declared = room_for(spec.name);
  if (!fx_.declared.ok()) return nullptr;
  fx_.cluster = cluster_id{++last_id_};
  by_name_.emplace(spec.name, fx_.cluster);
  cluster fresh(spec, limits_, incarnations_, {fx_.changes, fx_.cluster}, known);
  return &all_.emplace(fx_.cluster, entry{std::move(fresh)}).first->second;
}

void clusters::on(time_point, create_cluster const& e) {
  if (auto* const c = made(e.spec, false)) append_records(c->what);
}

// Writes no records, because the caller has just read these records.
void clusters::on(time_point now, restore_cluster const& e) {
  auto* const c = made(e.what.cluster.spec, true);
  if (c == nullptr) return;
  c->what.restore(e.what, now);
  reschedule(fx_.cluster, *c, c->what.next_deadline(now));
}

void clusters::on(time_point now, redeclare_cluster const& e) {
  auto& c = entry_of(e.cluster);
  auto spec = e.spec;
  spec.name = c.what.spec().name;
  fx_.declared = allowed(spec);
  if (!fx_.declared.ok()) return;
  if (c.what.redeclare(std::move(spec), fx_)) reschedule(e.cluster, c, c.what.next_deadline(now));
  append_records(c.what);
}

void clusters::on(time_point now, renew_cluster const& e) {
  auto& c = entry_of(e.cluster);
  auto spec = e.spec;
  spec.name = c.what.spec().name;
  fx_.declared = allowed(spec);
  if (!fx_.declared.ok()) return;
  c.what.end_generation(now, std::move(spec), fx_);
  reschedule(e.cluster, c, c.what.next_deadline(now));
  append_records(c.what);
}

void clusters::on(time_point now, fail_cluster const& e) {
  auto& c = entry_of(e.cluster);
  fx_.declared = c.what.give_up(now, e, fx_);
  reschedule(e.cluster, c, c.what.next_deadline(now));
  append_records(c.what);
}

void clusters::on(time_point, cluster_listens const& e) {
  entry_of(e.cluster).what.listens(e.port, limits_.journalled, fx_);
}

void clusters::on(time_point now, remove_cluster const& e) {
  auto const id = find(e.name);
  if (!id) {
    fx_.declared = id.error();
    return;
  }
  auto& c = entry_of(*id);
  c.what.stop(now, fx_);
  reschedule(*id, c, never);
  by_name_.erase(by_name_.find(e.name));
  all_.erase(*id);
  change_log(fx_.changes, *id).note(cluster_removed{});
  if (limits_.journalled) fx_.facts.push_back({e.name, cluster_record_removed{}});
}

void clusters::on(time_point now, cluster_call& e) {
  auto& c = entry_of(e.cluster);
  if (c.what.perform(now, e.what, fx_)) reschedule(e.cluster, c, c.what.next_deadline(now));
  append_records(c.what);
}

void clusters::on(time_point now, call_abandoned const& e) {
  auto& c = entry_of(e.cluster);
  c.what.call_abandoned(now, e.call, fx_);
  reschedule(e.cluster, c, c.what.next_deadline(now));
  append_records(c.what);
}

void clusters::on(time_point now, connection_closed const& e) {
  auto& c = entry_of(e.cluster);
  c.what.connection_closed(now, e.task, e.incarnation);
  reschedule(e.cluster, c, c.what.next_deadline(now));
}

void clusters::on(time_point now, tick const&) {
  while (!due_.empty() && due_.begin()->first <= now) {
    auto const id = due_.begin()->second;
    auto& c = entry_of(id);
    auto const before = fx_.changes.list.size();
    c.what.tick(now, fx_);
    append_records(c.what, before);
    // Prevents a service whose deadline does not advance from blocking other clusters.
    reschedule(id, c, std::max(c.what.next_deadline(now), now + duration(1)));
  }
}

// Writes no records: the end of waits is irrelevant to the next server process.
void clusters::on(time_point now, stop const&) {
  stopped_ = true;
  for (auto& [id, e] : all_) {
    e.what.stop(now, fx_);
    reschedule(id, e, never);
  }
}

void clusters::reschedule(cluster_id id, entry& e, time_point next) {
  if (next == e.due) return;
  if (e.due != never) due_.erase({e.due, id});
  if (next != never) due_.emplace(next, id);
  e.due = next;
}

result<cluster_id> clusters::find(std::string_view name) const {
  auto const it = by_name_.find(name);
  if (it != by_name_.end()) return it->second;
  return status{code::not_found, "there is no cluster '" + std::string(name.substr(0, 128)) + "'"};
}

std::vector<cluster_id> clusters::ids() const {
  std::vector<cluster_id> ids;
  for (auto const& [id, e] : all_) ids.push_back(id);
  return ids;
}

std::vector<fact> clusters::everything() const {
  std::vector<fact> all;
  for (auto const& [id, e] : all_) e.what.append_all_records(all);
  return all;
}

changes clusters::whole() const {
  changes all;
  for (auto const& [id, e] : all_) e.what.write_state({all, id});
  return all;
}

std::string clusters::violated_invariant() const {
  for (auto const& [id, e] : all_)
    if (auto broken = e.what.current().violated_invariant(); !broken.empty())
      return e.what.spec().name + ": " + broken;
  return {};
}

}  // namespace muster::core::coordination
