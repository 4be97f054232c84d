// What a restart must know of a generation, said and taken back.
#include "server/core/coordination/service.hpp"

namespace muster::core::coordination {

void service::say_changes(std::vector<fact>& out) {
  for (auto const t : roster_.take_changed()) out.push_back({step_.spec.name, roster_.fact_of(t)});
  for (auto& key : store_.take_changed()) {
    auto const* e = store_.find(key);
    key_fact f{std::move(key), {}, step_.now};
    if (e) f.value = e->value, f.changed = e->changed;
    out.push_back({step_.spec.name, std::move(f)});
  }
  for (auto const& id : barriers_.take_changed())
    // What devices were told is not kept, so a new exchange begins.
    if (id != step_.own.devices) out.push_back({step_.spec.name, barriers_.fact_of(id)});
}

void service::forget_changes() {
  (void)roster_.take_changed();
  (void)store_.take_changed();
  (void)barriers_.take_changed();
}

void service::say_everything(std::vector<fact>& out) const {
  for (task_index t = 0; t < roster_.size(); ++t)
    if (!roster_.is_untold(t)) out.push_back({step_.spec.name, roster_.fact_of(t)});
  for (auto const& [key, e] : store_.all())
    out.push_back({step_.spec.name, key_fact{key, e.value, e.changed}});
  for (auto const n : barriers_.finished())
    if (auto const& id = barriers_.at(n).id; id != step_.own.devices)
      out.push_back({step_.spec.name, barriers_.fact_of(id)});
}

cluster_fact service::facts() const {
  cluster_fact f;
  f.generation = step_.which.number;
  f.incarnation = step_.which.incarnation;
  f.started = started_;
  f.ended = ended_;
  f.failed = failures_.failed();
  f.cause = failures_.cause();
  f.cause_task = failures_.cause_task();
  f.victims.assign(failures_.victims().begin(), failures_.victims().end());
  f.broadcast = failures_.broadcast();
  return f;
}

bool service::facts_changed() {
  marks const now{started_,
                  ended_,
                  failures_.failed(),
                  failures_.cause().has_value(),
                  failures_.victims().size(),
                  failures_.broadcast().get()};
  return std::exchange(said_, now) != now;
}

void service::restore(restored_cluster const& r, time_point now) {
  auto const& c = r.cluster;
  step_.now = now;
  started_ = c.started;
  ended_ = c.ended;
  if (c.cause) failures_.blame(c.cause_task, *c.cause);
  for (auto const t : c.victims) failures_.add_victim(t);
  if (c.failed) failures_.fail();
  if (c.broadcast) failures_.tell_everybody(c.broadcast);
  for (auto const& t : r.tasks)
    if (t.task < roster_.size()) {
      roster_.restore(t, now);
      if (t.hears_notices && t.state == agent_state::connected) notices_.restore(t.task);
    }
  for (auto const& k : r.keys)
    if (k.value) store_.restore(k.key, *k.value, k.changed);
  for (auto const& b : r.barriers) barriers_.restore(b);
  facts_changed();
}

}  // namespace muster::core::coordination
