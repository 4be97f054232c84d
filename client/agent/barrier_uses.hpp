// Counts this agent's uses of each barrier. Each call sends the count, so that the service detects
// agents that are out of step. Remembers the 100,000 most recently used IDs, far more than the
// service; all other IDs restart from 0. The agent owns this object.
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace muster::detail {

class barrier_uses {
 public:
  static constexpr std::size_t remembered_max = 100'000;

  std::int64_t next(std::string_view id) const {
    auto const it = by_id_.find(id);
    return it == by_id_.end() ? 0 : it->second->second + 1;
  }

  void note(std::string_view id, std::int64_t use) {
    if (auto const it = by_id_.find(id); it != by_id_.end()) {
      it->second->second = use;
      all_.splice(all_.end(), all_, it->second);
      return;
    }
    auto const added = all_.emplace(all_.end(), std::string(id), use);
    by_id_.emplace(added->first, added);
    if (all_.size() <= remembered_max) return;
    by_id_.erase(all_.front().first);
    all_.pop_front();
  }

  void clear() {
    by_id_.clear();
    all_.clear();
  }

 private:
  using entries = std::list<std::pair<std::string, std::int64_t>>;
  entries all_;  // sorted by last use, the newest at the end
  std::unordered_map<std::string_view, entries::iterator> by_id_;
};

}  // namespace muster::detail
