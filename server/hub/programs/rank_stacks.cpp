#include "server/hub/programs/rank_stacks.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace muster::server {

std::string own_stack(std::string_view text) {
  if (text.starts_with(started_by_rank)) text.remove_prefix(std::min(text.find('\n'), text.size()));
  return std::string(text.substr(0, text.find(started_by_rank)));
}

void rank_stacks::call_if_complete(round& r) {
  if (r.awaited.empty() && r.done) std::exchange(r.done, {})();
}

std::uint64_t rank_stacks::begin(stacks_query const& of, worker_function const& worker,
                                 ask_function const& ask) {
  // The oldest round's waiter gets the answers received so far.
  if (rounds_.size() >= rounds_max) {
    auto& oldest = std::next(rounds_.rbegin(), rounds_max - 1)->second;
    oldest.awaited.clear();
    call_if_complete(oldest);
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
    // This state remains until the answer arrives; older workers never answer.
    for (auto const rank : q.ranks) r.stacks[rank].state = stack_state::no_answer;
    r.awaited[q.number] = {stream, std::move(q.ranks)};
  }
  return number;
}

void rank_stacks::await(std::uint64_t number, std::function<void()> done) {
  auto const it = rounds_.find(number);
  if (it == rounds_.end()) return done();
  it->second.done = std::move(done);
  call_if_complete(it->second);
}

std::vector<rank_stack> rank_stacks::end(std::uint64_t number) {
  std::vector<rank_stack> all;
  if (auto const found = rounds_.extract(number))
    for (auto& [rank, s] : found.mapped().stacks) all.push_back(std::move(s));
  return all;
}

void rank_stacks::deliver(core::stream_id stream, stacks_answer answer) {
  for (auto& [number, r] : rounds_) {
    auto const it = r.awaited.find(answer.number);
    if (it == r.awaited.end()) continue;
    if (it->second.stream != stream) return;
    auto const ranks = std::move(it->second.ranks);
    r.awaited.erase(it);
    if (answer.busy)
      for (auto const rank : ranks) r.stacks[rank].state = stack_state::busy;
    for (auto& s : answer.stacks)
      if (std::find(ranks.begin(), ranks.end(), s.rank) != ranks.end()) {
        // The worker did not sample the rank, because it was serving other stack requests.
        if (answer.busy && s.state == stack_state::no_answer) s.state = stack_state::busy;
        r.stacks[s.rank] = std::move(s);
      }
    return call_if_complete(r);
  }
}

void rank_stacks::forget_worker(core::stream_id stream) {
  for (auto& [number, r] : rounds_) {
    std::erase_if(r.awaited, [&](auto const& w) {
      if (w.second.stream != stream) return false;
      for (auto const rank : w.second.ranks) r.stacks[rank].state = stack_state::away;
      return true;
    });
    call_if_complete(r);
  }
}

}  // namespace muster::server
