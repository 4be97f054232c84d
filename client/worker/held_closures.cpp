#include "client/worker/held_closures.hpp"

#include <algorithm>

namespace muster {
namespace {

// Returns true if no thread will run the job.
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

void held_closures::keep(std::shared_ptr<job> j, clock::time_point now, std::uint64_t number) {
  answer_bytes_ += bytes_of(*j);
  answers_.push_back({std::move(j), now, number});
}

void held_closures::answered(job const& j, clock::time_point now, std::uint64_t number) {
  auto const node = jobs_.extract(j.closure);
  if (acknowledged_) return keep(node.mapped(), now, number);
  if (j.took < worth_keeping || bytes_of(j) > answer_bytes_max) return;
  forget_answers(now);
  keep(node.mapped(), now, number);
  while (answers_.size() > answers_max || answer_bytes_ > answer_bytes_max) forget_oldest();
}

void held_closures::taken(std::uint64_t count) {
  while (!answers_.empty() && answers_.front().number <= count) forget_oldest();
}

void held_closures::forget_oldest() {
  answer_bytes_ -= bytes_of(*answers_.front().what);
  answers_.pop_front();
}

void held_closures::forget_answers() {
  answers_.clear();
  answer_bytes_ = 0;
}

void held_closures::forget_answers(clock::time_point now) {
  while (!answers_.empty() && answers_.front().since + answers_for <= now) forget_oldest();
}

bool held_closures::stop(std::uint64_t closure, std::uint32_t attempt) {
  if (give_back(closure, attempt)) return true;
  if (auto const it = jobs_.find(closure); it != jobs_.end() && it->second->attempt == attempt)
    it->second->stop.request_stop();
  return false;
}

bool held_closures::give_back(std::uint64_t closure, std::uint32_t attempt) {
  auto const it = jobs_.find(closure);
  if (it == jobs_.end() || it->second->attempt != attempt || !drop(*it->second)) return false;
  jobs_.erase(it);
  return true;
}

std::size_t held_closures::waiting() const {
  return static_cast<std::size_t>(std::count_if(jobs_.begin(), jobs_.end(), [](auto const& entry) {
    return entry.second->slot_returned && !entry.second->finished;
  }));
}

void held_closures::clear_waits() {
  for (auto& [closure, j] : jobs_) j->slot_returned = false;
}

void held_closures::drop_unstarted() {
  std::erase_if(jobs_, [](auto const& entry) { return drop(*entry.second); });
}

void held_closures::keep_finished() {
  if (!acknowledged_) return;
  std::vector<std::shared_ptr<job>> finished;
  for (auto const& [closure, j] : jobs_)
    if (j->finished) finished.push_back(j);
  for (auto& j : finished) {
    jobs_.erase(j->closure);
    keep(std::move(j), {}, 0);
  }
}

std::vector<std::shared_ptr<job>> held_closures::answers_for_hello() {
  if (!acknowledged_) return {};
  keep_finished();
  std::vector<std::shared_ptr<job>> all;
  std::size_t bytes = 0;
  for (auto& a : answers_) {
    bytes += bytes_of(*a.what);
    if (all.size() == again_max || bytes > again_bytes_max) break;
    all.push_back(a.what);
    a.number = all.size();
  }
  while (answers_.size() > all.size()) {  // the server would run these closures again
    answer_bytes_ -= bytes_of(*answers_.back().what);
    answers_.pop_back();
  }
  return all;
}

std::vector<std::shared_ptr<job>> held_closures::offer(clock::time_point now) {
  std::vector<std::shared_ptr<job>> all;
  for (auto const& [closure, j] : jobs_) all.push_back(j);
  if (acknowledged_) return all;
  forget_answers(now);
  for (auto const& a : answers_)
    if (!jobs_.contains(a.what->closure)) all.push_back(a.what);
  return all;
}

std::vector<std::shared_ptr<job>> held_closures::settle(
    std::span<std::shared_ptr<job> const> offered, std::span<std::uint32_t const> kept,
    bool acknowledges) {
  std::vector<bool> wanted(offered.size());
  for (auto const k : kept)
    if (k < offered.size()) wanted[k] = true;
  // Answers that were sent in a hello are kept until they are acknowledged.
  if (!acknowledged_ || !acknowledges) forget_answers();
  acknowledged_ = acknowledges;
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
  keep_finished();
  for (auto& [closure, j] : jobs_)
    if (!drop(*j)) j->stop.request_stop();
  jobs_.clear();
  if (!acknowledged_) forget_answers();
}

}  // namespace muster
