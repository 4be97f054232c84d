// Held jobs by closure, and the answers that may have been lost, oldest first.
#include "client/worker/held_closures.hpp"

#include <algorithm>

namespace muster {
namespace {

// True: no thread will run it any more.
bool drop(job& j) {
  auto expected = job::phase::queued;
  return j.state.compare_exchange_strong(expected, job::phase::dropped);
}

std::size_t bytes_of(job const& j) {
  return j.result.bytes.size() + j.why.message.size() + j.why.traceback.size();
}

}  // namespace

bool held_closures::add(std::shared_ptr<job> j) {
  auto const closure = j->closure;
  return jobs_.emplace(closure, std::move(j)).second;
}

bool held_closures::holds(job const& j) const {
  auto const it = jobs_.find(j.closure);
  return it != jobs_.end() && it->second.get() == &j;
}

void held_closures::answered(job const& j, clock::time_point now) {
  auto const node = jobs_.extract(j.closure);
  if (j.took < worth_keeping || bytes_of(j) > answer_bytes_max) return;
  forget_answers(now);
  answers_.push_back({node.mapped(), now});
  answer_bytes_ += bytes_of(j);
  while (answers_.size() > answers_max || answer_bytes_ > answer_bytes_max) {
    answer_bytes_ -= bytes_of(*answers_.front().what);
    answers_.pop_front();
  }
}

void held_closures::forget_answers(clock::time_point now) {
  while (!answers_.empty() && answers_.front().since + answers_for <= now) {
    answer_bytes_ -= bytes_of(*answers_.front().what);
    answers_.pop_front();
  }
}

held_closures::stopped held_closures::stop(std::uint64_t closure, std::uint32_t attempt) {
  auto const it = jobs_.find(closure);
  if (it == jobs_.end() || it->second->attempt != attempt) return stopped::unknown;
  if (drop(*it->second)) {
    jobs_.erase(it);
    return stopped::dropped;
  }
  it->second->stop.request_stop();
  return stopped::asked;
}

bool held_closures::give_back(std::uint64_t closure, std::uint32_t attempt) {
  auto const it = jobs_.find(closure);
  if (it == jobs_.end() || it->second->attempt != attempt || !drop(*it->second)) return false;
  jobs_.erase(it);
  return true;
}

void held_closures::drop_unstarted() {
  std::erase_if(jobs_, [](auto const& entry) { return drop(*entry.second); });
}

std::vector<std::shared_ptr<job>> held_closures::offer(clock::time_point now) {
  forget_answers(now);
  std::vector<std::shared_ptr<job>> all;
  for (auto const& [closure, j] : jobs_) all.push_back(j);
  for (auto const& a : answers_)
    if (!jobs_.contains(a.what->closure)) all.push_back(a.what);
  return all;
}

std::vector<std::shared_ptr<job>> held_closures::settle(
    std::span<std::shared_ptr<job> const> offered, std::span<std::uint32_t const> kept) {
  std::vector<bool> wanted(offered.size());
  for (auto const k : kept)
    if (k < offered.size()) wanted[k] = true;
  answers_.clear();
  answer_bytes_ = 0;
  std::vector<std::shared_ptr<job>> to_answer;
  for (std::size_t i = 0; i < offered.size(); ++i) {
    auto const& j = offered[i];
    if (!wanted[i]) {
      j->stop.request_stop();
      if (holds(*j)) jobs_.erase(j->closure);
    } else if (j->finished) {
      jobs_.emplace(j->closure, j);
      to_answer.push_back(j);
    }
  }
  return to_answer;
}

void held_closures::drop_all() {
  for (auto& [closure, j] : jobs_)
    if (!drop(*j)) j->stop.request_stop();
  jobs_.clear();
  answers_.clear();
  answer_bytes_ = 0;
}

}  // namespace muster
