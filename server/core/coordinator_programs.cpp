#include <iterator>
#include <utility>

#include "server/core/coordinator_state.hpp"

namespace muster::core {

effects const& coordinator::step(time_point now, submit_program& e) {
  return state_->perform(now, [&] {
    auto& st = *state_;
    if (st.step.refuse_when_stopping(e.call)) return;
    auto made = st.programs.submit(now, std::move(e.spec));
    made ? st.step.answer(e.call, {}, *made) : st.step.answer(e.call, made.error());
  });
}

effects const& coordinator::step(time_point now, change_program const& e) {
  return state_->perform(now, [&] {
    auto& st = *state_;
    if (st.step.refuse_when_stopping(e.call)) return;
    st.step.answer(e.call, st.programs.wish(now, e));
  });
}

effects const& coordinator::step(time_point now, programs::restore_programs& e) {
  return state_->perform(now, [&] { state_->programs.restore(now, e.programs); });
}

effects const& coordinator::step(time_point now, uploads_present const& e) {
  return state_->perform(now, [&] { state_->programs.uploads_present(e.there); });
}

effects const& coordinator::step(time_point now, coordination_failed const& e) {
  return state_->perform(now, [&] { state_->programs.coordination_failed(e); });
}

effects const& coordinator::step(time_point now, program_steps_reported const& e) {
  return state_->perform(now, [&] { state_->programs.steps_reported(now, e); });
}

effects const& coordinator::step(time_point now, program_hangs const& e) {
  return state_->perform(now, [&] { state_->programs.hangs(now, e); });
}

effects const& coordinator::step(time_point now, rank_reports const& e) {
  return state_->perform(now, [&] { state_->programs.reports(now, e); });
}

void coordinator::state::report_programs() {
  auto const& said = programs.pending_output();
  if (said.empty()) return;
  auto& fx = step.fx;
  if (step.config.durable) fx.program_facts = programs.facts();
  fx.rank_orders = said.orders;
  fx.changes.programs = said.changes;
  for (auto const& f : said.failures) step.report_incident(f);
}

programs::controller const& coordinator::programs() const {
  return state_->programs;
}

}  // namespace muster::core
