#include "client/programs/last_stacks.hpp"

#include <signal.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

namespace muster {

void last_stacks::begin(coro::engine_context& engine, std::function<void()> wake) {
  engine_ = &engine;
  wake_ = std::move(wake);
  next_ = std::make_unique<coro::timer>(engine);
}

void last_stacks::expect(clock::time_point kill_at, reason why, who ranks) {
  if (files_.are_off()) return;
  if (why == reason::lease)
    std::erase_if(expected_, [](kill const& k) { return k.why == reason::lease; });
  if (expected_.size() == expected_max) expected_.pop_front();
  expected_.push_back({kill_at, why, std::move(ranks)});
  arm();
}

void last_stacks::arm() {
  next_->cancel();
  if (expected_.empty()) return;
  auto const first = std::min_element(expected_.begin(), expected_.end(),
                                      [](auto const& a, auto const& b) { return a.at < b.at; });
  next_->call_at(first->at - lead, [this] { look(); });
}

// Samples ranks together if they will be killed at nearly the same time.
void last_stacks::look() {
  constexpr std::chrono::milliseconds together{30};
  auto const now = clock::now();
  pids all;
  std::erase_if(expected_, [&](kill const& k) {
    if (k.at - lead > now + together) return false;
    all.merge(k.ranks());
    return true;
  });
  arm();
  if (!all.empty()) take(all, nullptr);
}

void last_stacks::take_now(pids const& ranks, std::function<void()> then) {
  if (files_.are_off() || ranks.empty()) return then();
  sampling_now_.insert(ranks.begin(), ranks.end());
  if (sampling_now_callbacks_) return sampling_now_callbacks_->then.push_back(std::move(then));
  sampling_now_callbacks_ = std::make_shared<batch>(*engine_);
  sampling_now_callbacks_->then.push_back(std::move(then));
  sampling_now_callbacks_->limit.call_at(clock::now() + lead,
                                         [b = std::weak_ptr(sampling_now_callbacks_)] {
                                           if (auto const kills = b.lock()) end(*kills);
                                         });
  engine_->post([this] {
    take(std::exchange(sampling_now_, {}), std::exchange(sampling_now_callbacks_, {}));
  });
}

void last_stacks::end(batch& b) {
  b.limit.cancel();
  for (auto const& then : std::exchange(b.then, {})) then();
}

// Ranks are numbered, because they can belong to several programs.
void last_stacks::take(pids const& ranks, std::shared_ptr<batch> const& kills) {
  std::vector<rank_key> keys;
  std::map<std::uint32_t, pid_t> numbered;
  for (auto const& [key, pid] : ranks) {
    numbered.emplace(static_cast<std::uint32_t>(keys.size()), pid);
    keys.push_back(key);
  }
  boost::asio::post(taker_, [this, kills, keys = std::move(keys), numbered] {
    v1::RankStacks stacks;
    files_.take(numbered, stacks, patience);
    engine_->post([this, kills, keys, stacks = std::move(stacks)] {
      took(keys, stacks);
      if (kills) end(*kills);
    });
  });
}

void last_stacks::took(std::vector<rank_key> const& ranks, v1::RankStacks const& stacks) {
  for (auto const& s : stacks.stack()) {
    if (s.state() == v1::STACK_UNKNOWN) continue;  // the rank has already exited
    auto const& key = ranks[s.rank()];
    auto& a = attempts_[{key.program, key.attempt}];
    a.taken[key.rank] = s;
    a.taken[key.rank].set_rank(key.rank);
    if (a.killed.contains(key.rank)) a.untold.insert(key.rank);
  }
  while (attempts_.size() > attempts_max) attempts_.erase(attempts_.begin());
  if (reports()) wake_();
}

void last_stacks::ended(rank_key const& key, v1::RankEnded const& how) {
  if (files_.are_off()) return;
  auto const it = attempts_.find({key.program, key.attempt});
  bool const killed = how.signal() == SIGKILL && (how.stopped() || how.lease_ran_out());
  if (!killed) {
    if (it != attempts_.end()) it->second.taken.erase(key.rank);
    return;
  }
  auto& a = attempts_[{key.program, key.attempt}];
  a.killed.insert(key.rank);
  if (a.taken.contains(key.rank)) a.untold.insert(key.rank);
}

void last_stacks::forget(rank_key const& key) {
  auto const it = attempts_.find({key.program, key.attempt});
  if (it == attempts_.end()) return;
  auto& a = it->second;
  a.killed.erase(key.rank);
  if (a.untold.contains(key.rank)) return;  // the rank is removed once it has been reported again
  a.taken.erase(key.rank);
  if (a.taken.empty() && a.killed.empty()) attempts_.erase(it);
}

void last_stacks::offer(std::set<attempt_key> const& held) {
  std::erase_if(attempts_, [&held](auto const& a) {
    return a.second.untold.empty() && !held.contains(a.first);
  });
  for (auto& [key, a] : attempts_)
    for (auto const rank : a.killed)
      if (a.taken.contains(rank)) a.untold.insert(rank);
}

bool last_stacks::reports() const {
  return std::any_of(attempts_.begin(), attempts_.end(),
                     [](auto const& a) { return !a.second.untold.empty(); });
}

// Each message contains only one attempt, because its stacks can fill a message.
void last_stacks::report(v1::RankReports& to) {
  for (auto it = attempts_.begin(); it != attempts_.end(); ++it) {
    auto& a = it->second;
    if (a.untold.empty()) continue;
    auto& said = *to.add_last_stacks();
    said.set_program(it->first.first);
    said.set_attempt(it->first.second);
    std::map<std::pair<int, std::string>, v1::LastStack*> equal;
    for (auto const rank : std::exchange(a.untold, {})) {
      auto const& s = a.taken[rank];
      auto*& one = equal[{s.state(), s.text()}];
      if (!one) {
        one = said.add_stack();
        one->set_state(s.state());
        one->set_text(s.text());
        one->set_process(s.process());
      }
      one->add_rank(rank);
      if (!a.killed.contains(rank)) a.taken.erase(rank);
    }
    if (a.taken.empty() && a.killed.empty()) attempts_.erase(it);
    return;
  }
}

}  // namespace muster
