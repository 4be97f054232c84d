#include "client/programs/rank_table.hpp"

#include <algorithm>
#include <utility>

namespace muster {

v1::RankName name_of(rank_key const& key) {
  v1::RankName name;
  name.set_program(key.program);
  name.set_attempt(key.attempt);
  name.set_rank(key.rank);
  return name;
}

rank_key key_of(v1::RankName const& name) {
  return {name.program(), name.attempt(), name.rank()};
}

held_rank* rank_table::find(rank_key const& key) {
  auto const it = held_.find(key);
  return it == held_.end() ? nullptr : &it->second;
}

held_rank& rank_table::add(rank_key const& key, std::uint64_t launcher) {
  ++alive_;
  auto& r = held_[key];
  r.launcher = launcher;
  return r;
}

std::vector<rank_key> rank_table::alive_of(std::uint64_t launcher) const {
  std::vector<rank_key> all;
  for (auto const& [key, r] : held_)
    if (r.launcher == launcher && !r.ended) all.push_back(key);
  return all;
}

std::set<std::uint64_t> rank_table::launchers_of(std::uint64_t program,
                                                 std::uint32_t attempt) const {
  std::set<std::uint64_t> all;
  for (auto const& [key, r] : held_)
    if (key.program == program && key.attempt == attempt && !r.ended) all.insert(r.launcher);
  return all;
}

std::set<std::uint64_t> rank_table::launchers() const {
  std::set<std::uint64_t> all;
  for (auto const& [key, r] : held_)
    if (!r.ended) all.insert(r.launcher);
  return all;
}

std::set<std::pair<std::uint64_t, std::uint32_t>> rank_table::attempts() const {
  std::set<std::pair<std::uint64_t, std::uint32_t>> all;
  for (auto const& [key, r] : held_) all.emplace(key.program, key.attempt);
  return all;
}

void rank_table::started(rank_key const& key, std::uint32_t pid, std::string not_preloaded) {
  auto* r = find(key);
  if (!r || r->ended) return;
  r->pid = pid;
  r->not_preloaded = std::move(not_preloaded);
  unreported_.push_back(key);
}

void rank_table::asked_to_end(std::uint64_t launcher,
                              google::protobuf::RepeatedField<std::uint32_t> const& named) {
  for (auto& [key, r] : held_)
    if (r.launcher == launcher && !r.ended &&
        (named.empty() || std::count(named.begin(), named.end(), key.rank) > 0))
      r.asked_to_end = true;
}

std::vector<std::string> rank_table::ended(rank_key const& key, v1::RankEnded what) {
  auto* r = find(key);
  if (!r || r->ended) return {};
  *what.mutable_name() = name_of(key);
  if (what.stopped() && !what.lease_ran_out() && what.not_started().empty() && !r->asked_to_end) {
    what.set_stopped(false);
    what.add_stderr("another process terminated the launcher");
  }
  r->ended = std::move(what);
  --alive_;
  unreported_.push_back(key);
  return std::move(r->devices);
}

void rank_table::report_again(rank_key const& key) {
  auto* r = find(key);
  if (!r || !r->ended) return;
  r->end_was_reported = false;
  unreported_.push_back(key);
}

void rank_table::forget(rank_key const& key) {
  auto* r = find(key);
  if (r && r->ended) held_.erase(key);
}

void rank_table::offer(v1::ProgramsOffer& to) {
  offered_.clear();
  unreported_.clear();
  for (auto& [key, r] : held_) {
    auto& h = *to.add_held();
    *h.mutable_name() = name_of(key);
    h.set_pid(r.pid);
    h.set_not_preloaded(r.not_preloaded);
    r.start_was_reported = r.pid != 0;
    r.end_was_reported = r.ended.has_value();
    if (r.ended) *h.mutable_ended() = *r.ended;
    offered_.push_back(key);
  }
}

std::vector<rank_key> rank_table::settle(v1::ProgramsWelcome const& answer) {
  std::set<std::uint32_t> const kept(answer.kept().begin(), answer.kept().end());
  std::vector<rank_key> unwanted;
  for (std::uint32_t i = 0; i < offered_.size(); ++i) {
    auto const* r = find(offered_[i]);
    if (!r) continue;
    if (kept.contains(i)) continue;  // an exited rank is removed when the server orders it
    if (r->end_was_reported)
      held_.erase(offered_[i]);
    else if (!r->ended)
      unwanted.push_back(offered_[i]);
  }
  offered_.clear();
  return unwanted;
}

void rank_table::report(v1::RankReports& to, std::size_t bytes_max) {
  std::size_t bytes = 0;
  while (!unreported_.empty() && bytes < bytes_max) {
    auto const key = unreported_.front();
    unreported_.pop_front();
    auto* r = find(key);
    if (!r) continue;
    if (r->pid != 0 && !std::exchange(r->start_was_reported, true)) {
      auto& s = *to.add_started();
      *s.mutable_name() = name_of(key);
      s.set_pid(r->pid);
      s.set_not_preloaded(r->not_preloaded);
      bytes += s.ByteSizeLong();
    }
    if (r->ended && !std::exchange(r->end_was_reported, true)) {
      *to.add_ended() = *r->ended;
      bytes += r->ended->ByteSizeLong();
    }
  }
}

}  // namespace muster
