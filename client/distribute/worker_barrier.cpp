#include "muster/worker_barrier.hpp"

namespace muster {

worker_barrier::worker_barrier(std::vector<std::string> participants)
    : participants_(std::move(participants)) {}

void worker_barrier::wait(std::size_t participant, std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  auto const round = round_;
  arrived_.insert(participant);
  if (failure_.empty() && !left_.empty()) fail(missing() + " can no longer arrive at the barrier");
  if (failure_.empty() && arrived_.size() == participants_.size()) {
    ++round_;
    arrived_.clear();
    changed_.notify_all();
    return;
  }
  auto const over = [&] { return round_ != round || !failure_.empty(); };
  if (!changed_.wait_for(lock, timeout, over))
    fail(std::to_string(arrived_.size()) + " of " + std::to_string(participants_.size()) +
         " participants arrived within " + std::to_string(timeout.count()) +
         " ms; missing: " + missing());
  if (round_ == round) throw barrier_error("barrier: " + failure_);
}

void worker_barrier::leave(std::size_t participant) {
  std::lock_guard lock(mutex_);
  left_.insert(participant);
  if (!arrived_.empty()) fail(participants_[participant] + " can no longer arrive at the barrier");
}

void worker_barrier::abort(std::string const& reason) {
  std::lock_guard lock(mutex_);
  fail(reason);
}

std::string worker_barrier::missing() const {
  std::string names;
  for (std::size_t i = 0; i < participants_.size(); ++i)
    if (left_.empty() ? !arrived_.contains(i) : left_.contains(i))
      names += (names.empty() ? "" : ", ") + participants_[i];
  return names;
}

void worker_barrier::fail(std::string reason) {
  if (failure_.empty()) failure_ = std::move(reason);
  changed_.notify_all();
}

}  // namespace muster
