// One message of results after the other.
#include "server/core/moves/worker_answers.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/check.hpp"

namespace muster::core {

namespace {

std::string in_minutes(duration d) {
  auto const s = std::chrono::duration_cast<std::chrono::seconds>(d).count();
  return s % 60 == 0 ? std::to_string(s / 60) + " min" : std::to_string(s) + " s";
}

}  // namespace

void worker_answers::dependency_lost(worker& w, slot c, failure f) {
  auto const known = [this](std::string const& job, std::int64_t index) {
    return roster_.tasks.find(job, index) != nullptr;
  };
  if (auto const wrong = failures_.wrong(f, known); !wrong.empty()) {
    f.kind = failure_kind::user;
    f.type = "muster::invalid_dependency";
    f.message = "INVALID_ARGUMENT: a DEPENDENCY_LOST failure cannot be taken: " + wrong +
                "; it said: " + f.message;
    f.dependencies.clear();
    ++w.task->failed;
    return life_.fail(c, closure_state::failed, std::move(f));
  }
  auto const limit = failures_.dependency_limit();
  auto const window = in_minutes(step_.config.transient_window);
  auto const by = w.task->name();
  auto verdict = failures_.dependencies_lost(closures_[c].owner, f, step_.now);
  auto const list = [](std::string all, std::string const& name) {
    return all + (all.empty() ? "" : ", ") + name;
  };
  std::string names;
  for (auto const& [name, reports] : verdict.counts) {
    names = list(std::move(names), name);
    stateful_.use(closures_[c].owner, name);
    step_.fx.remarks.push_back({remark_kind::dependency_lost, name,
                                "reported by " + by + ", " + std::to_string(reports) + " of " +
                                    std::to_string(limit) + " times within " + window + ": " +
                                    f.message});
  }
  if (verdict.fatal.empty())
    return life_.put_back_closure(
        w, c, false, {loss_reason::dependency, "lost " + names + ": " + f.message}, verdict.pause);
  names.clear();
  for (auto const& name : verdict.fatal) names = list(std::move(names), name);
  f.message = "UNAVAILABLE: " + names + (verdict.fatal.size() == 1 ? " is" : " are") +
              " lost: reported " + std::to_string(limit) + (limit == 1 ? " time" : " times") +
              " within " + window + ", the last by " + by + ": " + f.message;
  f.dependencies = std::move(verdict.fatal);
  ++w.task->failed;
  life_.fail(c, closure_state::failed, std::move(f));
}

bool worker_answers::bear_timeout(worker& w, slot c, failure const& f) {
  auto const present =
      roster_.tasks.count(task_state::connected) + roster_.tasks.count(task_state::late);
  if (!failures_.bears_timeout(closures_[c].owner, present, step_.now)) return false;
  life_.put_back_closure(w, c, false, {loss_reason::timeout, "timed out: " + f.message});
  return true;
}

void worker_answers::results(worker_results& e) {
  auto* w = roster_.find(e.stream);
  if (!w || w->away) return;  // disconnected a moment ago; its work is elsewhere by now
  roster_.tasks.seen(step_.now, *w->task);
  time_point last_started{};
  for (auto& r : e.results) {
    if (slot const c = closures_.find(r.closure); c != no_slot) last_started = closures_[c].started;
    if (auto const wrong = apply_result(*w, r); !wrong.empty())
      return workers_.disconnect(*w, {code::invalid_argument, wrong}, false, task_state::error);
  }
  auto& at = scheduler_.of((*w).number);
  if (!e.results.empty()) {
    auto const took = step_.now - last_started;
    if (took < step_.config.window_grow_below) at.grow();
    if (took > step_.config.window_shrink_above) at.shrink();
  }
  scheduler_.update(at);
}

/// Empty when the result was taken, else what is wrong with it.
std::string worker_answers::apply_result(worker& w, worker_result& r) {
  slot const c = closures_.find(r.closure);
  if (c == no_slot || closures_[c].worker != w.number)
    return w.task->name() + " answered " + text(r.closure) + ", which it does not hold";
  auto& record = closures_[c];
  if (record.attempt != r.attempt)
    return w.task->name() + " answered attempt " + std::to_string(r.attempt) + " of " +
           text(r.closure) + ", it holds attempt " + std::to_string(record.attempt);
  ++w.task->finished;
  step_.metrics.execution.add(step_.now - record.started);
  if (record.timed_out) {
    life_.expire(c);
    return {};
  }
  if (r.ok) {
    life_.succeed(c, std::move(r.value));
    return {};
  }
  r.failure.worker = w.task->name();
  r.failure.attempt = record.attempt;
  bool const builds_component = sessions_.of(closures_[c].owner).delivery() == delivery::build;
  if (r.failure.kind == failure_kind::stale_handle && !builds_component) {
    // At once for the first time, as another worker may know it; then less and less often.
    auto const before = std::min<unsigned>(record.worker_failures, 6);
    auto const pause = std::chrono::milliseconds(before == 0 ? 0 : 50 << before);
    life_.put_back_closure(w, c, true,
                           {loss_reason::stale_handle,
                            "the worker does not know the function any more: " + r.failure.message},
                           pause);
    return {};
  }
  if (!builds_component && r.failure.kind == failure_kind::dependency_lost) {
    dependency_lost(w, c, std::move(r.failure));
    return {};
  }
  if (!builds_component && r.failure.kind == failure_kind::timeout && bear_timeout(w, c, r.failure))
    return {};
  ++w.task->failed;
  if (r.failure.kind == failure_kind::user && life_.retry(w, c, r.failure)) return {};
  bool const stopped = r.failure.kind == failure_kind::cancelled && record.stop_requested;
  life_.fail(c, stopped ? closure_state::cancelled : closure_state::failed, std::move(r.failure));
  return {};
}

}  // namespace muster::core
