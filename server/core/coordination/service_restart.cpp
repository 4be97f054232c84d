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

void service::restore(restored_cluster const& r, time_point now) {
  step_.now = now;
  record_.restore(r.cluster);
  for (auto const& t : r.tasks)
    if (t.task < roster_.size()) {
      roster_.restore(t, now);
      if (t.hears_notices && t.state == agent_state::connected) notices_.restore(t.task);
    }
  for (auto const& k : r.keys)
    if (k.value) store_.restore(k.key, *k.value, k.changed);
  for (auto const& b : r.barriers) barriers_.restore(b);
}

}  // namespace muster::core::coordination
