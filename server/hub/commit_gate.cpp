// A session's values can contain values of its inputs, so the session also depends on the inputs of
// these inputs.
#include "server/hub/commit_gate.hpp"

#include <algorithm>

namespace muster::server {
namespace {

constexpr std::size_t few = 16;
constexpr auto nobody = core::session_id{};
constexpr auto anything = core::session_id{~std::uint64_t{0}};

subject subject_of(core::session_id s) {
  constexpr std::uint64_t kind = 1;
  return server::subject_of(kind, core::raw(s));
}

}  // namespace

muster::status commit_gate::refusal() const {
  if (auto failed = failure(); !failed.ok()) return failed;
  return commits_ && refusal_ ? refusal_() : muster::status{};
}

void commit_gate::write(std::vector<core::fact> const& facts) {
  if (facts.empty()) return;
  write_(facts);
  if (!commits_) return;
  core::session_id last{};
  bool first = true;
  for (auto const& f : facts) {
    auto const of = session_of(f);
    if (std::exchange(first, false) || of != last) commits_->touch(subject_of(of));
    last = of;
  }
}

void commit_gate::when_durable(std::uint64_t batch, std::function<void()> then) {
  if (!commits_) return then();
  commits_->hold_for(batch, [alive = std::weak_ptr(alive_), then = std::move(then)](auto const&) {
    if (!alive.expired()) then();
  });
}

std::uint64_t commit_gate::batch_of(core::session_id s) const {
  if (is_idle()) return 0;
  auto const last_of = [this](core::session_id id) {
    return id == anything ? commits_->written() : commits_->batch_of(subject_of(id));
  };
  // Any session can use per-worker values without an owner.
  auto last = std::max(last_of(s), last_of(nobody));
  if (auto const it = inputs_.find(s); it != inputs_.end())
    for (auto const from : it->second) last = std::max(last, last_of(from));
  return last;
}

commit_gate::sessions commit_gate::inputs(core::coordinator const& core,
                                          std::vector<core::closure_spec> const& closures,
                                          core::session_id own) const {
  sessions from;
  if (!commits_) return from;
  core::closure_extras const* last = nullptr;
  for (auto const& c : closures) {
    if (!c.extras || c.extras.get() == last) continue;
    last = c.extras.get();
    for (auto const& i : last->inputs) {
      if (i.closure == core::closure_id{}) continue;
      auto const s = core.session_of(i.closure);
      if (s != own && std::find(from.begin(), from.end(), s) == from.end()) from.push_back(s);
    }
  }
  return with_inputs(std::move(from));
}

commit_gate::sessions commit_gate::with_inputs(sessions given) const {
  sessions all = given;
  for (auto const s : given)
    if (auto const it = inputs_.find(s); it != inputs_.end())
      all.insert(all.end(), it->second.begin(), it->second.end());
  return all;
}

void commit_gate::add_inputs(core::session_id s, sessions const& from) {
  if (!commits_ || s == nobody) return;
  auto& all = inputs_[s];
  for (auto const one : from)
    if (one != s && std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
  if (all.size() > few) all = {anything};
}

}  // namespace muster::server
