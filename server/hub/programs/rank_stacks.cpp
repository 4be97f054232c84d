#include "server/hub/programs/rank_stacks.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace muster::server {

std::string own_stack(std::string_view text) {
  if (text.starts_with(started_by_rank)) text.remove_prefix(std::min(text.find('\n'), text.size()));
  return std::string(text.substr(0, text.find(started_by_rank)));
}

void rank_stacks::tell_if_over(round& r) {
  if (r.waits.empty() && r.done) std::exchange(r.done, {})();
}

std::uint64_t rank_stacks::begin(stacks_query const& of, worker_function const& worker,
                                 ask_function const& ask) {
  // Who is told so asks what is known; who does not, at all, is not waited for.
  if (rounds_.size() >= rounds_max) {
    auto& oldest = std::next(rounds_.rbegin(), rounds_max - 1)->second;
    oldest.waits.clear();
    tell_if_over(oldest);
  }
  if (rounds_.size() >= 2 * rounds_max) rounds_.erase(rounds_.begin());
  auto const number = ++last_;
  auto& r = rounds_[number];
  std::map<core::stream_id, stacks_query> asked;
  for (auto const rank : of.ranks) {
    auto const stream = worker(rank);
    r.stacks[rank] = {rank, stack_state::away};
    if (stream != core::stream_id{}) asked[stream].ranks.push_back(rank);
  }
  for (auto& [stream, q] : asked) {
    q.program = of.program;
    q.attempt = of.attempt;
    q.number = ++last_;
    if (!ask(stream, q)) continue;
    // Until it has answered: a worker that is older than the question never does.
    for (auto const rank : q.ranks) r.stacks[rank].state = stack_state::no_answer;
    r.waits[q.number] = {stream, std::move(q.ranks)};
  }
  return number;
}

void rank_stacks::await(std::uint64_t number, std::function<void()> done) {
  auto const it = rounds_.find(number);
  if (it == rounds_.end()) return done();
  it->second.done = std::move(done);
  tell_if_over(it->second);
}

std::vector<rank_stack> rank_stacks::end(std::uint64_t number) {
  std::vector<rank_stack> all;
  if (auto const found = rounds_.extract(number))
    for (auto& [rank, s] : found.mapped().stacks) all.push_back(std::move(s));
  return all;
}

void rank_stacks::answered(core::stream_id stream, stacks_answer answer) {
  for (auto& [number, r] : rounds_) {
    auto const it = r.waits.find(answer.number);
    if (it == r.waits.end()) continue;
    if (it->second.stream != stream) return;
    auto const ranks = std::move(it->second.ranks);
    r.waits.erase(it);
    if (answer.busy)
      for (auto const rank : ranks) r.stacks[rank].state = stack_state::busy;
    for (auto& s : answer.stacks)
      if (std::find(ranks.begin(), ranks.end(), s.rank) != ranks.end()) {
        // Nobody has asked it: others take stacks just now.
        if (answer.busy && s.state == stack_state::no_answer) s.state = stack_state::busy;
        r.stacks[s.rank] = std::move(s);
      }
    return tell_if_over(r);
  }
}

void rank_stacks::gone(core::stream_id stream) {
  for (auto& [number, r] : rounds_) {
    std::erase_if(r.waits, [&](auto const& w) {
      if (w.second.stream != stream) return false;
      for (auto const rank : w.second.ranks) r.stacks[rank].state = stack_state::away;
      return true;
    });
    tell_if_over(r);
  }
}

}  // namespace muster::server
