#include "server/core/coordination/barrier_table.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace muster::core::coordination {

std::size_t barrier::position(task_index t) const {
  if (whole_cluster) return std::min<std::size_t>(t, who->size());
  auto const it = std::lower_bound(who->begin(), who->end(), t);
  return it != who->end() && *it == t ? static_cast<std::size_t>(it - who->begin()) : who->size();
}

barrier* barrier_table::find(std::string_view id) const {
  auto const it = by_id_.find(id);
  return it == by_id_.end() ? nullptr : it->second.get();
}

barrier& barrier_table::start(std::string const& id) {
  auto& slot = by_id_[id];
  if (!slot) {
    slot = std::make_unique<barrier>();
    slot->id = id;
    slot->place = running_.insert(running_.end(), slot.get());
  } else {
    check(!slot->running, "an instance starts when the one before has ended");
    running_.splice(running_.end(), finished_, slot->place);
  }
  auto& b = *slot;
  b.running = true;
  b.told_stuck = false;
  b.result = nullptr;
  b.first = no_task;
  b.arrived_count = 0;
  b.gave_up_count = 0;
  b.missing_stale = true;
  b.ended = {};
  return b;
}

void barrier_table::finish(barrier& b, std::size_t remembered_max) {
  set_due(b, never);
  b.running = false;
  std::vector<call_id>().swap(b.calls);
  std::vector<bool>().swap(b.gave_up);
  std::string().swap(b.missing);
  finished_.splice(finished_.end(), running_, b.place);
  if (finished_.size() <= remembered_max || finished_.front() == &b) return;
  forgetful_ = true;
  auto const oldest = by_id_.find(finished_.front()->id);
  finished_.pop_front();
  forgotten_.push_back(std::move(oldest->second));
  by_id_.erase(oldest);
}

void barrier_table::set_due(barrier& b, time_point due) {
  if (b.due != never) due_.erase({b.due, b.id});
  b.due = due;
  if (due != never) due_.emplace(std::pair(due, std::string_view(b.id)), &b);
}

}  // namespace muster::core::coordination
