// Samples the stacks of ranks and then stops them: on an order, when the worker leaves, or when the
// lease expires.
#include <algorithm>
#include <utility>

#include "client/programs/order_lines.hpp"
#include "client/programs/rank_runner.hpp"

namespace muster {
namespace {

using clock = std::chrono::steady_clock;

/// Time for a launcher to kill a rank after its grace period and to report its exit.
constexpr std::chrono::milliseconds kill_margin{5'000};

bool names(v1::StopRanks const& order, std::uint32_t rank) {
  return order.rank().empty() || std::count(order.rank().begin(), order.rank().end(), rank) > 0;
}

}  // namespace

void rank_runner::renew() {
  auto const line = lease_line(lease_.until());
  for (auto const id : table_.launchers()) launchers_.tell(id, line);
  last_stacks_.expect(lease_.until(), last_stacks::reason::lease, [this] {
    last_stacks::pids all;
    for (auto const id : table_.launchers()) all.merge(running(id, {}));
    return all;
  });
}

last_stacks::pids rank_runner::running(std::uint64_t launcher, v1::StopRanks const& order) {
  last_stacks::pids all;
  for (auto const& key : table_.alive_of(launcher))
    if (auto const* held = table_.find(key); held->pid != 0 && names(order, key.rank))
      all[key] = static_cast<pid_t>(held->pid);
  return all;
}

void rank_runner::stop(v1::StopRanks const& order) {
  for (auto const id : table_.launchers_of(order.program(), order.attempt())) stop(id, order);
}

// Ranks that are waiting for their upload have no process yet.
void rank_runner::stop(std::uint64_t launcher, v1::StopRanks const& order) {
  table_.asked_to_end(launcher, order.rank());
  if (!unpacking_.contains(launcher)) return stop_running(launcher, order);
  for (auto const& key : table_.alive_of(launcher)) {
    if (!names(order, key.rank)) continue;
    auto e = not_started("the rank was stopped before its upload arrived");
    e.set_stopped(true);
    ended(key, std::move(e));
  }
  if (!table_.alive_of(launcher).empty()) return;
  uploads_.forget(launcher);
  unpacking_.erase(launcher);
  let_go(launcher);
}

// Ranks that report steps get more time, because the server must agree on a step with all workers
// of the program.
std::chrono::milliseconds rank_runner::leave() {
  auto const stepping =
      agrees_on_steps_ ? step_watch_.stepping() : decltype(step_watch_.stepping()){};
  bool later = false;
  std::chrono::milliseconds longest{0};
  for (auto const id : table_.launchers()) {
    auto const& how = attempts_[id];
    bool const steps = stepping.contains({how.program(), how.attempt()});
    later = later || steps;
    longest = std::max(longest, std::chrono::milliseconds(how.grace_ms()) +
                                    (steps ? options_.notice : std::chrono::milliseconds(0)));
    if (!steps) stop(id, v1::StopRanks(how));
  }
  longest += kill_margin;
  if (!later) return longest;
  step_watch_.remind(options_.notice, [this] {
    engine_->post([this] {
      for (auto const id : table_.launchers()) stop(id, v1::StopRanks(attempts_[id]));
    });
  });
  return longest;
}

void rank_runner::kill() {
  for (auto const id : table_.launchers()) stop(id, v1::StopRanks());
}

// Without a grace period, stacks are sampled first. By then, the attempt may have ended, and its
// launcher may be running the next attempt.
void rank_runner::stop_running(std::uint64_t launcher, v1::StopRanks const& order) {
  if (order.grace_ms() > 0) {
    last_stacks_.expect(clock::now() + std::chrono::milliseconds(order.grace_ms()),
                        last_stacks::reason::order,
                        [this, launcher, order] { return running(launcher, order); });
    return launchers_.tell(launcher, stop_line(order));
  }
  auto const attempts = attempts_.find(launcher);
  auto const of = attempts == attempts_.end()
                      ? std::pair(order.program(), order.attempt())
                      : std::pair(attempts->second.program(), attempts->second.attempt());
  last_stacks_.take_now(running(launcher, order), [this, launcher, order, of] {
    if (table_.launchers_of(of.first, of.second).contains(launcher))
      launchers_.tell(launcher, stop_line(order));
  });
}

}  // namespace muster
