// What a part has changed since somebody last asked, for whoever writes it down. Owned by the part;
// empty between two steps, so it is not saved with it. Bounded by what one step changes.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

namespace muster::core {

template <class Key>
class change_list {
 public:
  /// `on`: somebody asks. Otherwise nothing is noted.
  explicit change_list(bool on) : on_(on) {}

  void note(Key const& k) {
    if (on_) changed_.push_back(k);
  }
  /// In order of keys, each once.
  std::vector<Key> take() {
    if (changed_.empty()) return {};
    std::sort(changed_.begin(), changed_.end());
    changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
    return std::exchange(changed_, {});
  }

 private:
  bool on_;
  std::vector<Key> changed_;
};

}  // namespace muster::core
