#include "server/doctor/step_stops.hpp"

#include <algorithm>

namespace muster::doctor {

void step_stops::begin(core::time_point now, core::program_id program, std::uint32_t attempt,
                       std::uint64_t least, std::set<core::stream_id> const& workers,
                       handler done) {
  if (auto const it = rounds_.find(program); it != rounds_.end() && it->second.attempt == attempt) {
    it->second.least = std::max(it->second.least, least);
    it->second.done.push_back(std::move(done));
    return;
  }
  end(program, {code::unavailable, "another attempt has started"});
  if (rounds_.size() >= under_way_max)
    return done(
        muster::status{code::resource_exhausted,
                       "too many programs are already waiting to stop at a step; try again later"});
  auto& r = rounds_[program];
  r.attempt = attempt;
  r.query = ++last_;
  r.least = least;
  r.until = now + patience;
  r.workers = workers;
  r.done.push_back(std::move(done));
  for (auto const w : workers) {
    if (!to_.hold(w, {r.query, program, attempt}))
      return end(program,
                 {code::unavailable, "one of the program's workers is disconnected; try again"});
    r.waits.insert(w);
  }
  settle(program);
}

void step_stops::answered(core::stream_id stream, steps_held const& what) {
  auto const it = std::find_if(rounds_.begin(), rounds_.end(),
                               [&](auto const& r) { return r.second.query == what.query; });
  if (it == rounds_.end() || it->second.waits.erase(stream) == 0) return;
  for (auto const& [rank, step] : what.ranks)
    it->second.reached = std::max(it->second.reached.value_or(0), step);
  settle(it->first);
}

void step_stops::on_worker_lost(core::stream_id stream) {
  std::vector<core::program_id> over;
  for (auto const& [program, r] : rounds_)
    if (r.waits.contains(stream)) over.push_back(program);
  for (auto const program : over)
    end(program, {code::unavailable, "one of the program's workers has disconnected; try again"});
}

void step_stops::tick(core::time_point now) {
  std::vector<core::program_id> over;
  for (auto const& [program, r] : rounds_)
    if (r.until <= now) over.push_back(program);
  for (auto const program : over)
    end(program, {code::unavailable,
                  "one of the program's workers did not answer, or its version does not support "
                  "stopping at a step"});
}

core::time_point step_stops::due() const {
  auto next = core::never;
  for (auto const& [program, r] : rounds_) next = std::min(next, r.until);
  return next;
}

// Lets waiting ranks continue, or, if there is an earlier agreement, continue up to its step.
void step_stops::end(core::program_id program, muster::status const& why) {
  auto const over = rounds_.extract(program);
  if (!over) return;
  auto const attempt = over.mapped().attempt;
  for (auto const w : over.mapped().workers)
    to_.tell(w, {program, attempt, agreed(program, attempt)});
  for (auto const& done : over.mapped().done) done(why);
}

void step_stops::settle(core::program_id program) {
  auto const it = rounds_.find(program);
  if (it == rounds_.end() || !it->second.waits.empty()) return;
  if (!it->second.reached)
    return end(program, {code::failed_precondition,
                         "none of the program's ranks has reported a step (muster.step)"});
  if (*it->second.reached >= step_max)
    return end(program, {code::failed_precondition,
                         "one of the program's ranks has reported the highest possible step"});
  auto const over = rounds_.extract(it);
  auto const& r = over.mapped();
  // A rank that reached the step of an earlier agreement may have exited because of this agreement.
  auto const before = agreed(program, r.attempt);
  auto const step = before && *before <= *r.reached ? *before : std::max(r.least, *r.reached + 1);
  remember(program, r.attempt, step);
  for (auto const w : r.workers) to_.tell(w, {program, r.attempt, step});
  for (auto const& done : r.done) done(step);
}

void step_stops::remember(core::program_id program, std::uint32_t attempt, std::uint64_t step) {
  while (agreed_.size() >= agreed_max && !agreed_.contains(program))
    agreed_.erase(std::min_element(
        agreed_.begin(), agreed_.end(),
        [](auto const& a, auto const& b) { return a.second.number < b.second.number; }));
  agreed_[program] = {attempt, step, ++last_};
}

std::optional<std::uint64_t> step_stops::agreed(core::program_id program,
                                                std::uint32_t attempt) const {
  auto const it = agreed_.find(program);
  if (it == agreed_.end() || it->second.attempt != attempt) return {};
  return it->second.step;
}

void step_stops::forget(core::program_id program) {
  end(program, {code::not_found, "the program was removed"});
  agreed_.erase(program);
}

}  // namespace muster::doctor
