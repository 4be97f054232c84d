#include "server/core/transitions/lifecycle/lifecycle.hpp"

namespace muster::core {

void lifecycle::use_input(slot c, std::size_t k, blob const& value) {
  auto& d = *core_.closures[c].details;
  (*d.inputs)[k] = value;
  if (value_store::is_name(value) && core_.closures.find(d.input_ids[k]) != no_slot)
    core_.lineage.use(core_.closures.id_of(c), d.input_ids[k]);
}

// A durable server has a copy of all values, so no value exists only in workers' memory.
bool lifecycle::keep_for_others(slot c) {
  auto& r = core_.closures[c];
  auto const id = core_.closures.id_of(c);
  bool const of_use = r.args || core_.lineage.is_copied(id) || core_.lineage.is_needed_now(id);
  if (!core_.lineage.is_needed(id) || !of_use || core_.step.stopping || core_.step.config.durable ||
      r.state() != closure_state::succeeded)
    return false;
  auto& s = core_.sessions.of(r.owner);
  s.by_token.erase(r.token);
  r.token = 0;
  r.released = true;
  core_.book.report_move(c, move_reason::unwanted);
  core_.lineage.keep_for_users(id);
  return true;
}

void lifecycle::forget_unneeded_inputs() {
  auto& book = core_.lineage;
  while (true) {
    for (auto id = book.take_recheck(); id != closure_id{}; id = book.take_recheck()) {
      slot const c = core_.closures.find(id);
      if (!book.is_needed(id))
        forget_held(c);
      else if (!book.is_needed_now(id) && !book.is_copied(id) && core_.values.has_value(id))
        keeping_.drop_value(c, release_reason::client);
    }
    auto const oldest = book.over_limit();
    if (oldest == closure_id{}) return;
    forget_held(core_.closures.find(oldest));
  }
}

}  // namespace muster::core
