// A value that a session gives may have others of its inputs in it, so whom those took from counts
// as well.
#include "server/hub/session_batches.hpp"

#include <algorithm>
#include <utility>

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

void session_batches::wrote(std::vector<core::fact> const& facts) {
  if (none()) return;
  core::session_id last{};
  bool first = true;
  for (auto const& f : facts) {
    auto const of = session_of(f);
    if (std::exchange(first, false) || of != last) commits_->touch(subject_of(of));
    last = of;
  }
}

std::uint64_t session_batches::of(core::session_id s) const {
  if (none() || commits_->idle()) return 0;
  auto const batch_of = [this](core::session_id id) {
    return id == anything ? commits_->written() : commits_->batch_of(subject_of(id));
  };
  // Per-worker values of nobody may be used by everybody.
  auto last = std::max(batch_of(s), batch_of(nobody));
  if (auto const it = inputs_.find(s); it != inputs_.end())
    for (auto const from : it->second) last = std::max(last, batch_of(from));
  return last;
}

session_batches::sessions session_batches::inputs(core::coordinator const& of,
                                                  std::vector<core::closure_spec> const& closures,
                                                  core::session_id own) const {
  sessions from;
  if (none()) return from;
  core::closure_extras const* last = nullptr;
  for (auto const& c : closures) {
    if (!c.extras || c.extras.get() == last) continue;
    last = c.extras.get();
    for (auto const& i : last->inputs) {
      if (i.closure == core::closure_id{}) continue;
      auto const s = of.session_of(i.closure);
      if (s != own && std::find(from.begin(), from.end(), s) == from.end()) from.push_back(s);
    }
  }
  return with_theirs(std::move(from));
}

session_batches::sessions session_batches::with_theirs(sessions given) const {
  sessions all = given;
  for (auto const s : given)
    if (auto const it = inputs_.find(s); it != inputs_.end())
      all.insert(all.end(), it->second.begin(), it->second.end());
  return all;
}

void session_batches::takes(core::session_id s, sessions const& from) {
  if (none() || s == nobody) return;
  auto& all = inputs_[s];
  for (auto const one : from)
    if (one != s && std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
  if (all.size() > few) all = {anything};
}

}  // namespace muster::server
