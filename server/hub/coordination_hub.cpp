#include "server/hub/coordination_hub.hpp"

#include <memory>
#include <utility>

#include "server/core/coordination/key_values/key_value_store.hpp"

namespace muster::server {

namespace coordination = core::coordination;

namespace {

// Kinds of subjects in the commit_queue. A change of a run changes all its keys and tasks. A change
// of a key also changes the run's `all_keys`.
enum fact_kind : std::uint64_t { a_run = 2, a_key, a_task, all_keys };

subject changed_by(coordination::fact const& f) {
  if (auto const* key = std::get_if<coordination::key_fact>(&f.what))
    return subject_of(a_key, subject_of(a_run, 0, f.cluster), key->key);
  if (auto const* task = std::get_if<coordination::task_fact>(&f.what))
    return subject_of(a_task, subject_of(a_run, task->task, f.cluster));
  return std::holds_alternative<coordination::barrier_fact>(f.what)
             ? subject{}  // answers about barriers wait for all changes
             : subject_of(a_run, 0, f.cluster);
}

}  // namespace

coordination_hub::coordination_hub(coordination::limits limits, std::uint64_t seed,
                                   coordination_dependencies dependencies)
    : dependencies_(std::move(dependencies)), clusters_(limits, seed) {}

void coordination_hub::forget(coordination::cluster_id cluster, core::call_id call) {
  if (calls_.forget(call) && clusters_.exists(cluster))
    apply(coordination::call_abandoned{cluster, call});
}

result<coordination::cluster_id> coordination_hub::create(coordination::cluster_spec spec) {
  auto& fx = clusters_.step(dependencies_.now(), coordination::create_cluster{std::move(spec)});
  auto const id = fx.cluster;
  if (auto const done = deliver(fx); !done.ok()) return done;
  return id;
}

answer_subjects coordination_hub::of_key(coordination::cluster_id cluster,
                                         std::string_view key) const {
  auto const run = subject_of(a_run, 0, clusters_.spec(cluster).name);
  return {subject_of(a_key, run, coordination::normal_key(key)), run, true,
          subject_of(all_keys, run)};
}

answer_subjects coordination_hub::of_all_keys(coordination::cluster_id cluster) const {
  auto const run = subject_of(a_run, 0, clusters_.spec(cluster).name);
  auto const keys = subject_of(all_keys, run);
  return {keys, run, true, keys};
}

answer_subjects coordination_hub::of_task(coordination::cluster_id cluster,
                                          coordination::task_index t) const {
  auto const& name = clusters_.spec(cluster).name;
  return {subject_of(a_task, subject_of(a_run, t, name)), subject_of(a_run, 0, name), false};
}

void coordination_hub::write_down(std::vector<coordination::fact> const& facts) {
  dependencies_.write_down(facts);
  for (auto const& f : facts) {
    if (auto const s = changed_by(f); s != subject{}) dependencies_.commits->touch(s);
    if (std::holds_alternative<coordination::key_fact>(f.what))
      dependencies_.commits->touch(subject_of(all_keys, subject_of(a_run, 0, f.cluster)));
  }
}

status coordination_hub::deliver(coordination::effects& fx) {
  lateness_.fold(fx.changes);
  listener_(fx.changes);
  auto declared = std::move(fx.declared);
  log_.fold(fx.changes);
  for (auto const& e : log_.pending_events())
    dependencies_.tell(
        {e.severity, std::string(history::name(e.kind)), e.cluster, e.about, e.text});
  alarm_.follow(clusters_.next_deadline(), dependencies_.arm);
  bool const changed = !fx.facts.empty();
  if (changed) write_down(fx.facts);
  if (fx.replies.empty()) return declared;
  if (!waits_for_disk()) {
    calls_.deliver(std::move(fx.replies));
    return declared;
  }
  auto replies = std::move(fx.replies);
  for (auto& r : replies) {
    auto const of = calls_.about(r.call);
    // NOT_FOUND and ALREADY_EXISTS report the key's own state. Other errors can depend on another
    // key, the run or another task.
    bool const reports_key =
        r.fault && (r.fault->code == code::not_found || r.fault->code == code::already_exists);
    bool const certain = of.one != 0 && (!r.fault || reports_key);
    // After a disk failure, heartbeats are still answered from memory.
    bool const may_be_lost = of.may_be_lost;
    auto told = [this, may_be_lost, r = std::move(r)](status const& lost) mutable {
      if (!lost.ok() && may_be_lost) {
        r.fault = coordination::refusal(lost.code, lost.message, false);
        r.body = {};
      }
      std::vector<coordination::reply> one;
      one.push_back(std::move(r));
      calls_.deliver(std::move(one));
    };
    certain ? dependencies_.commits->hold_for(batch_of(of), std::move(told))
            : dependencies_.commits->hold(changed || dependencies_.commits->batch_of(of.error) > 0,
                                          std::move(told));
  }
  return declared;
}

std::optional<coordination_hub::durability> coordination_hub::durable() const {
  if (!dependencies_.write_down) return {};
  auto const& commits = *dependencies_.commits;
  return durability{commits.written(), commits.durable(), commits.failed_since(),
                    commits.failed().message, dependencies_.store()};
}

void coordination_hub::refuse(core::call_id call, muster::status const& why) {
  auto fault = *coordination::refusal(why.code, why.message, false);
  fault.no_room = why.no_room;
  std::vector<coordination::reply> replies;
  replies.push_back({call, std::make_shared<coordination::fault const>(std::move(fault)), {}});
  calls_.deliver(std::move(replies));
}

}  // namespace muster::server
