#include "tests/simulation/world.hpp"

#include <algorithm>
#include <numeric>

#include "server/core/api/explanation.hpp"
#include "server/core/api/id_text.hpp"
#include "server/core/texts/explanation_texts.hpp"

namespace muster::simulation {

world::world(std::uint64_t seed, core::config config, recording* into)
    : virtual_time(seed),
      recording_(into),
      server_(std::make_unique<core::coordinator>(config, now_, wide_)),
      past_(std::make_unique<history::history>(server_->configuration(), wide_, now_)) {
  if (recording_) *recording_ = {std::move(config), now_, {}};
}

void world::run(core::time_point end) {
  while (next() <= end) perform_next();
  if (next() != core::never) now_ = end;
}

core::function_id world::learn(std::string name) {
  auto const fx = step(core::learn_functions{core::call_id{~std::uint64_t{0}}, {std::move(name)}});
  listen(fx);
  return std::get<core::functions_reply>(fx.replies.at(0).body).ids.at(0);
}

// Returns a copy, because performing the effects can cause another step.
core::effects world::step(core::event e) {
  if (!recording_) return server_->step(now_, e);
  auto& s = recording_->steps.emplace_back(recording::step{now_, e});
  s.effects = server_->step(now_, e);
  s.next_deadline = server_->next_deadline();
  return s.effects;
}

void world::apply(core::event e) {
  ++steps_;
  note("event " + std::to_string(e.index()));
  witness_.before(e);
  auto const fx = step(std::move(e));
  listen(fx);
  fold(fx);
  if (auto const broken = witness_.after(fx); !broken.empty())
    throw violation("step " + std::to_string(steps_) + ": " + broken);
  if (steps_ % check_every == 0) check_invariants();
  check_exclusive_ones(fx);
  learn_what_runs_again(fx);
  arm();
  perform(fx);
  for (auto const& r : fx.replies) {
    auto node = calls_.extract(r.call);
    if (!node) throw violation("a call was answered twice, or was never asked");
    node.mapped()(r);
  }
}

void world::listen(core::effects const& fx) {
  told_.fold(fx);
  past_->fold(fx, now_);
}

void world::check_invariants() const {
  if (auto const broken = server_->violated_invariant(); !broken.empty())
    throw violation("after step " + std::to_string(steps_) + ": " + broken);
  if (auto const differs = told_.difference(*server_); !differs.empty())
    throw violation("after step " + std::to_string(steps_) + ": " + differs);
  if (auto const wrong = past_->invalid(); !wrong.empty())
    throw violation("after step " + std::to_string(steps_) + ": history: " + wrong);
}

void world::forget(core::call_id call) {
  if (calls_.erase(call) == 1) apply(core::call_abandoned{call});
}

void world::arm() {
  auto const due = server_->next_deadline();
  if (due == armed_ || due == core::never) return;
  armed_ = due;
  after(std::max(core::duration{}, due - now_), [this, due] {
    if (armed_ != due) return;
    armed_ = core::never;
    apply(core::tick{});
  });
}

// Checks that a closure that must run alone does not share its worker.
void world::check_exclusive_ones(core::effects const& fx) {
  if (fx.assignments.empty()) return;
  for (auto const& exclusives : server_->overview(now_).exclusive) {
    auto const is_it = [&](core::assignment const& a) { return a.closure == exclusives.closure; };
    counts["alone"] += static_cast<std::uint64_t>(
        std::count_if(fx.assignments.begin(), fx.assignments.end(), is_it));
    for (auto const stream : witness_.streams()) {
      auto const& held = witness_.held(stream);
      if (held.size() > 1 && std::any_of(held.begin(), held.end(), is_it))
        throw violation("closure " + std::to_string(core::raw(exclusives.closure)) +
                        " is to run alone and shares its worker");
    }
  }
}

// Collects closures that run again. No view lists them, because they belong to no session.
void world::learn_what_runs_again(core::effects const& fx) {
  for (auto const& i : fx.changes.incidents)
    if (auto const* again = std::get_if<core::incidents::closure_runs_again>(&i))
      again_.push_back(again->by);
}

std::string world::left_again() const {
  std::string all;
  for (auto const id : again_)
    if (auto const why = server_->closures().explain(id, now_))
      all += "; " + core::text(id) + " runs again, reason " +
             std::to_string(static_cast<int>(why->why));
  return all;
}

bool world::needed_again(core::per_worker_id v) const {
  return std::any_of(again_.begin(), again_.end(), [&](core::closure_id id) {
    auto const c = server_->closures().find(id);
    return c && std::count(c->per_worker.begin(), c->per_worker.end(), v) > 0;
  });
}

std::uint64_t world::dropped() const {
  auto const& by_reason = past_->metrics().values_dropped;
  return std::accumulate(by_reason.begin(), by_reason.end(), std::uint64_t{0});
}

void world::fold(std::uint64_t value) {
  for (int i = 0; i < 8; ++i) mix(value >> (8 * i) & 0xff);
}

void world::fold(core::effects const& fx) {
  fold(static_cast<std::uint64_t>(now_.time_since_epoch().count()));
  for (auto const& w : fx.welcomes) fold(raw(w.stream)), fold(static_cast<std::uint64_t>(w.index));
  for (auto const& w : fx.welcomes)
    for (auto const k : w.kept) fold(k);
  for (auto const& d : fx.dispatches) fold(raw(d.stream)), fold(d.count);
  for (auto const& a : fx.assignments) fold(raw(a.closure)), fold(a.attempt);
  for (auto const& s : fx.stop_requests) fold(raw(s.stream)), fold(raw(s.closure));
  for (auto const& d : fx.disconnects)
    fold(raw(d.stream)), fold(static_cast<std::uint64_t>(d.status.code)), fold(d.final);
  for (auto const& o : fx.outcomes) {
    fold(o.token), fold(o.ok);
    if (o.failure) fold(static_cast<std::uint64_t>(o.failure->kind)), fold(o.failure->attempt);
  }
  for (auto const& n : fx.notices) fold(raw(n.session)), fold(static_cast<std::uint64_t>(n.kind));
  for (auto const& m : past_->log().pending_events()) fold(static_cast<std::uint64_t>(m.kind));
  for (auto const& v : fx.value_moves)
    fold(raw(v.closure)), fold(static_cast<std::uint64_t>(v.kind));
  for (auto const& r : fx.replies)
    fold(raw(r.call)), fold(static_cast<std::uint64_t>(r.status.code));
}

}  // namespace muster::simulation
