#include "server/core/api/objects.hpp"
#include "server/core/coordinator_state.hpp"

namespace muster::core {

effects const& coordinator::step(time_point now, use_task const& e) {
  return state_->perform(now, [&] {
    if (auto* s = state_->sessions.find(e.session))
      state_->stateful.use(s->number, stateful_tasks::task_key{e.job, e.index});
  });
}

effects const& coordinator::step(time_point now, task_state_lost const& e) {
  return state_->perform(now, [&] {
    if (auto* s = state_->sessions.find(e.session))
      state_->life.lose_state_of(*s, {e.job, e.index}, e.why);
  });
}

}  // namespace muster::core
