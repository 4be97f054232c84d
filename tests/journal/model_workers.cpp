#include "tests/journal/model_workers.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "server/core/api/id_text.hpp"
#include "server/core/queries/closure_queries.hpp"

namespace muster::server::journal {

model_workers::model_workers(killable_server& server) : server_(server) {
  server_.at_once = [this](core::effects const& fx) { take(fx); };
}

void model_workers::take(core::effects const& fx) {
  for (auto const& w : fx.welcomes) {
    auto& held = workers_[w.stream].held;
    std::vector<held_closure> kept;
    for (auto const k : w.kept) kept.push_back(held.at(k));
    server_.counts["taken_up"] += kept.size();
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
  std::set<std::pair<core::closure_id, std::uint32_t>> known_lost;  // on any worker
  auto const note = [&](core::closure_id id, std::uint32_t attempt) {
    if (is_known_lost(id, attempt)) known_lost.emplace(id, attempt);
  };
  for (auto const& c : w.held) e.held.push_back({c.id, c.attempt}), note(c.id, c.attempt);
  for (auto const& r : *w.kept) note(r.closure, r.attempt);
  e.answers = *w.kept;
  std::vector<std::pair<core::closure_id, std::uint32_t>> unfinished;
  for (auto const& r : *w.kept)
    if (auto const view = server_.core().closures().find(r.closure); view && !ended(view->state))
      unfinished.emplace_back(r.closure, r.attempt);
  auto const stream = e.stream;
  auto const again = *w.kept;
  workers_[stream] = std::move(w);
  server_.step(std::move(e));
  acknowledge(workers_[stream], again);
  for (auto const& c : workers_[stream].held)
    if (known_lost.contains({c.id, c.attempt}))
      server_.fail(text(c.id) + " is taken up with an attempt that was lost");
  for (auto const& [id, attempt] : unfinished) {
    auto const view = server_.core().closures().find(id);
    bool const by_it = view && view->state == core::closure_state::succeeded &&
                       view->attempts.back().attempt == attempt;
    server_.counts["answered_again"] += by_it;  // by an answer first sent to an earlier server
    if (by_it && known_lost.contains({id, attempt}))
      server_.fail(text(id) + " ended with an attempt that was lost");
  }
}

bool model_workers::is_known_lost(core::closure_id id, std::uint32_t attempt) {
  auto const view = server_.core().closures().find(id);
  if (!view) return false;
  return std::any_of(view->attempts.begin(), view->attempts.end(), [&](auto const& a) {
    return a.attempt == attempt && a.outcome.how == core::attempt_end::worker_lost;
  });
}

// Waits until they are on the disk.
void model_workers::acknowledge(worker const& w, std::vector<core::worker_result> const& answers) {
  std::set<std::pair<core::closure_id, std::uint32_t>> taken;
  for (auto const& r : answers) taken.emplace(r.closure, r.attempt);
  server_.when_written([kept = w.kept, taken = std::move(taken)] {
    std::erase_if(*kept, [&](auto const& r) { return taken.contains({r.closure, r.attempt}); });
  });
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
    r.failure = core::failure{core::failure_kind::user, "Error", "broken", "trace", "", 0};
  auto const w = workers_[stream];
  w.kept->push_back(r);
  if (!well && dice_.chance(5)) return lose(stream, true);  // the answer is lost with the stream
  server_.step(core::worker_results{stream, {r}});
  acknowledge(w, {r});
}

void model_workers::lose_one() {
  if (workers_.empty()) return;
  auto const it =
      std::next(workers_.begin(), static_cast<std::ptrdiff_t>(dice_.below(workers_.size())));
  lose(it->first, dice_.chance(50));
}

// Disconnects a worker. With `comes_back` only the stream broke, and it returns with its state.
void model_workers::lose(core::stream_id stream, bool comes_back) {
  auto const node = workers_.extract(stream);
  core::worker_disconnected e;
  e.stream = stream;
  e.reason = "lost";
  if (comes_back) lost_sight_.push_back(std::move(node.mapped()));
  server_.step(e);
}

void model_workers::heal() {
  lost_sight_.clear();
  for (int i = 0; i < 2; ++i) attach({core::incarnation{++last_incarnation_}, 4, 4, {}});
}

void model_workers::work_on(bool much) {
  server_.advance(server_.now() + core::duration(much ? dice_.between(1'000'000, 3'000'000)
                                                      : dice_.between(0, 200'000)));
  server_.step(core::tick{});
  stay_alive();
}

void model_workers::stay_alive() {
  auto const workers = workers_;
  for (auto const& [stream, w] : workers) server_.step(core::worker_alive{stream});
}

}  // namespace muster::server::journal
