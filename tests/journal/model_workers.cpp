#include "tests/journal/model_workers.hpp"

#include <set>
#include <utility>

#include "server/core/api/id_text.hpp"

namespace muster::server::journal {

model_workers::model_workers(killable_server& server, simulation::random& dice)
    : server_(server), dice_(dice) {
  server_.at_once = [this](core::effects const& fx) { take(fx); };
}

void model_workers::take(core::effects const& fx) {
  for (auto const& w : fx.welcomes) {
    auto& held = workers_[w.stream].held;
    std::vector<held_closure> kept;
    for (auto const k : w.kept) kept.push_back(held.at(k));
    taken_up += kept.size();
    held = std::move(kept);
  }
  for (auto const& d : fx.dispatches)
    for (auto i = d.first; i < d.first + d.count; ++i) {
      auto const& a = fx.assignments[i];
      workers_[d.stream].held.push_back({a.closure, a.attempt, std::string(a.args.view())});
    }
  for (auto const& d : fx.disconnects) workers_.erase(d.stream);
}

void model_workers::lose_sight() {
  for (auto& [stream, w] : std::exchange(workers_, {})) lost_sight_.push_back(std::move(w));
}

void model_workers::attach(worker w) {
  core::worker_attached e;
  e.stream = core::stream_id{++last_stream_};
  e.spec.functions = {"f", "g"};
  e.spec.slots = w.slots;
  e.spec.credits = w.credits;
  e.spec.incarnation = w.incarnation;
  std::set<std::pair<core::closure_id, std::uint32_t>> known_lost;  // whoever has them
  for (auto const& c : w.held) {
    e.held.push_back({c.id, c.attempt});
    auto const view = server_.core().closure(c.id);
    if (!view) continue;
    for (auto const& a : view->attempts)
      if (a.outcome.starts_with("worker lost")) known_lost.emplace(c.id, a.attempt);
  }
  auto const stream = e.stream;
  workers_[stream] = std::move(w);
  server_.step(std::move(e));
  for (auto const& c : workers_[stream].held)
    if (known_lost.contains({c.id, c.attempt}))
      server_.fail(text(c.id) + " is taken up with an attempt that was lost");
}

void model_workers::come_back() {
  if (!lost_sight_.empty() && dice_.chance(70)) {
    auto w = std::move(lost_sight_.back());
    lost_sight_.pop_back();
    return attach(std::move(w));
  }
  auto const slots = static_cast<std::uint32_t>(dice_.between(1, 3));
  attach({core::incarnation{++last_incarnation_},
          slots,
          slots + static_cast<std::uint32_t>(dice_.between(0, 2)),
          {}});
}

void model_workers::answer_one(bool well) {
  std::vector<core::stream_id> busy;
  for (auto const& [stream, w] : workers_)
    if (!w.held.empty()) busy.push_back(stream);
  if (busy.empty()) return;
  auto const stream = busy[dice_.below(busy.size())];
  auto& held = workers_[stream].held;
  auto const c = held.front();
  held.erase(held.begin());
  core::worker_result r;
  r.closure = c.id;
  r.attempt = c.attempt;
  r.ok = well || !dice_.chance(15);
  if (r.ok)
    r.value = core::blob(value_of(c.args));
  else
    r.failure = {core::failure_kind::user, "Error", "broken", "trace", "", 0};
  server_.step(core::worker_results{stream, {std::move(r)}});
}

void model_workers::lose_one() {
  if (workers_.empty()) return;
  auto const it =
      std::next(workers_.begin(), static_cast<std::ptrdiff_t>(dice_.below(workers_.size())));
  core::worker_detached e;
  e.stream = it->first;
  e.reason = "lost";
  if (dice_.chance(50)) lost_sight_.push_back(std::move(it->second));  // only its stream broke
  workers_.erase(it);
  server_.step(e);
}

void model_workers::heal() {
  lost_sight_.clear();
  for (int i = 0; i < 2; ++i) attach({core::incarnation{++last_incarnation_}, 4, 4, {}});
}

void model_workers::stay_alive() {
  auto const workers = workers_;
  for (auto const& [stream, w] : workers) server_.step(core::worker_alive{stream});
}

}  // namespace muster::server::journal
