// Says when nothing finishes although something runs, or could: the watch begins with the first
// such closure, starts over with everything that finishes, and speaks once a period.
#include <algorithm>

#include "server/core/coordinator_state.hpp"

namespace muster::core {

namespace {
constexpr std::size_t shown = 5;

std::string whole_seconds(duration d) {
  auto const ms = std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
  return ms < 10'000 ? std::to_string(ms) + " ms" : std::to_string(ms / 1000) + " s";
}
}  // namespace

void coordinator::state::watch() {
  if (config.watchdog == duration{}) return;
  bool const busy = counts.running > 0 || (counts.queued > 0 && !workers.empty());
  if (busy && quiet_since != never && !finished_some) return;
  finished_some = stalled = false;
  quiet_since = busy ? now : never;
  watch_due = busy ? now + config.watchdog : never;
}

// The oldest of each worker come first in what it holds.
std::vector<stalled_closure> coordinator::state::oldest_running() const {
  std::vector<slot> oldest;
  for (auto const& [stream, w] : workers) {
    slot c = w->holds.front;
    for (std::size_t i = 0; i < shown && c != no_slot; ++i, c = closures[c].next)
      oldest.push_back(c);
  }
  auto const earlier = [this](slot a, slot b) {
    auto const& l = closures[a];
    auto const& r = closures[b];
    return l.started != r.started ? l.started < r.started
                                  : raw(closures.id_of(a)) < raw(closures.id_of(b));
  };
  auto const end = oldest.begin() + static_cast<std::ptrdiff_t>(std::min(shown, oldest.size()));
  std::partial_sort(oldest.begin(), end, oldest.end(), earlier);
  std::vector<stalled_closure> out;
  for (auto it = oldest.begin(); it != end; ++it) {
    auto const& r = closures[*it];
    out.push_back({closures.id_of(*it), functions[r.owner->lanes[r.lane].function].name,
                   r.worker->task->name(), r.started});
  }
  return out;
}

void coordinator::state::bark() {
  watch_due = now + config.watchdog;
  std::uint64_t queued = 0;  // for a worker; not those that wait for a time
  for (auto const& f : functions.all()) queued += f.queued;
  if (counts.running == 0 && queued == 0) return;
  stalled = true;
  auto text = "nothing finished for " + whole_seconds(now - quiet_since) + ": " +
              std::to_string(counts.running) + " closures run, " + std::to_string(queued) +
              " are queued";
  char const* before = "; the oldest: ";
  for (auto const& c : oldest_running()) {
    text += before + core::text(c.closure) + " (" + c.function + ") on " + c.worker + " for " +
            whole_seconds(now - c.since);
    before = ", ";
  }
  fx.remarks.push_back({remark_kind::no_progress, "closures", std::move(text)});
}

}  // namespace muster::core
