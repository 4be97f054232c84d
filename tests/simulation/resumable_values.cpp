#include "tests/simulation/resumable_client.hpp"

namespace muster::simulation {

// Returns true while a closure that needs the value has no outcome.
bool resumable_client::used(core::per_worker_id v) const {
  for (auto const& [token, p] : pending_)
    if (p.spec.extras && !p.spec.extras->per_worker.empty() && p.spec.extras->per_worker[0] == v)
      return true;
  return false;
}

// Closures that run again can still use a released value: they were scheduled before its release.
bool resumable_client::kept(core::per_worker_id v) const {
  return world_.server().per_worker().find(v) && !world_.needed_again(v);
}

void resumable_client::own_values() {
  auto& dice = world_.dice();
  if (built_.size() < 2 && dice.chance(5)) {
    core::create_per_worker e;
    e.function = functions_.front();
    e.owner = session_;
    e.token = ++last_token_;
    e.args = args_for(some_builder(world_), e.token);
    auto again = e;
    auto const token = e.token;
    world_.ask(std::move(e), [this, token](core::reply const& r) {
      if (!r.status.ok()) throw violation("a per-worker value was refused: " + r.status.message);
      built_[token] = std::get<core::per_worker_reply>(r.body).id;
    });
    world_.ask(std::move(again), [this, token](core::reply const& r) {
      if (std::get<core::per_worker_reply>(r.body).id != built_[token])
        throw violation("a token stands for two per-worker values");
    });
  }
  if (built_.empty() || !dice.chance(5) || used(built_.begin()->second)) return;
  auto const id = built_.begin()->second;
  built_.erase(built_.begin());
  world_.ask(core::delete_per_worker{{}, id, session_}, [](core::reply const& r) {
    if (!r.status.ok()) throw violation("an own value was not released: " + r.status.message);
  });
  if (kept(id)) throw violation("a released per-worker value is still there");
}

void resumable_client::resume_values(core::resume_session& e) {
  dropped_.clear();
  for (auto it = built_.begin(); it != built_.end();) {
    if (!used(it->second) && world_.dice().chance(30)) {
      dropped_.push_back(it->second);
      it = built_.erase(it);
    } else {
      e.per_worker.push_back((it++)->first);
    }
  }
}

void resumable_client::check_values() const {
  for (auto const& [token, id] : built_)
    if (!world_.server().per_worker().find(id))
      throw violation("a wanted per-worker value is gone");
  for (auto const id : dropped_)
    if (kept(id)) throw violation("an unwanted per-worker value is still there");
}

}  // namespace muster::simulation
