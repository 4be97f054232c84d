#include "client/held_closures.hpp"

namespace muster {
namespace {

// True: no thread will run it any more.
bool drop(job& j) {
  auto expected = job::phase::queued;
  return j.state.compare_exchange_strong(expected, job::phase::dropped);
}

}  // namespace

bool held_closures::add(std::shared_ptr<job> j) {
  auto const closure = j->closure;
  return jobs_.emplace(closure, std::move(j)).second;
}

bool held_closures::remove(job const& j) {
  auto const it = jobs_.find(j.closure);
  if (it == jobs_.end() || it->second.get() != &j) return false;
  jobs_.erase(it);
  return true;
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

void held_closures::drop_all() {
  for (auto& [closure, j] : jobs_)
    if (!drop(*j)) j->stop.request_stop();
  jobs_.clear();
}

}  // namespace muster
