// Ids in order of arrival. Stale ids remain until they reach the front or the queue has doubled.
// Used only on the engine thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

#include "server/core/api/ids.hpp"

namespace muster::core {

class id_queue {
 public:
  void push(closure_id id) { ids_.push_back(id); }
  void push_front(closure_id id) { ids_.push_front(id); }
  /// Removes unwanted ids at the front. Returns the oldest `wanted` id, or a null id.
  template <class Wanted>
  closure_id front(Wanted wanted) {
    while (!ids_.empty() && !wanted(ids_.front())) ids_.pop_front();
    return ids_.empty() ? closure_id{} : ids_.front();
  }
  void pop() { ids_.pop_front(); }
  template <class Wanted>
  void sweep_if_long(Wanted wanted) {
    if (ids_.size() < sweep_at_) return;
    std::erase_if(ids_, [&](closure_id id) { return !wanted(id); });
    sweep_at_ = std::max<std::size_t>(1'024, ids_.size() * 2);
  }
  std::size_t size() const { return ids_.size(); }

 private:
  std::deque<closure_id> ids_;
  std::size_t sweep_at_ = 1'024;
};

}  // namespace muster::core
