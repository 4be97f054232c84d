// Names of large values that were lost with their worker, and their replacements. Closures that
// started before the loss still request the old name. Owned by the blob_store; used only on the
// engine thread.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "server/core/api/ids.hpp"
#include "server/core/api/time.hpp"

namespace muster::server {

class lost_names {
 public:
  /// Minimum time between two requests to run a closure again.
  static constexpr core::duration asked_every = std::chrono::minutes(10);

  /// At `names_max`, a new name replaces the oldest name; later requests for that name fail.
  explicit lost_names(std::size_t names_max = 100'000) : names_max_(names_max) {}

  void add(std::string_view name, core::closure_id closure) {
    auto const [it, added] = lost_.try_emplace(std::string(name), entry{closure, {}, {}});
    if (!added) return;
    by_closure_.emplace(closure, it->first);
    order_.push_back(it->first);
    if (order_.size() > names_max_) forget_oldest();
  }
  /// Records that the closure's value now has this name.
  void made_again(core::closure_id closure, std::string_view name) {
    auto const [from, to] = by_closure_.equal_range(closure);
    for (auto it = from; it != to; ++it)
      if (it->second != name) lost_.at(it->second).now = name;
  }
  std::string current(std::string_view name) const {
    auto const it = lost_.find(std::string(name));
    return it == lost_.end() || it->second.now.empty() ? std::string(name) : it->second.now;
  }
  bool is_missing(std::string_view name) const {
    auto const it = lost_.find(std::string(name));
    return it != lost_.end() && it->second.now.empty();
  }
  /// Returns the closure to run again, at most once per `asked_every`.
  std::optional<core::closure_id> ask(std::string_view name, core::time_point now) {
    auto const it = lost_.find(std::string(name));
    if (it == lost_.end() || !it->second.now.empty() || now < it->second.ask_at) return {};
    it->second.ask_at = now + asked_every;
    return it->second.closure;
  }

 private:
  struct entry {
    core::closure_id closure{};
    std::string now;  // the replacement; empty until recomputed
    core::time_point ask_at{};
  };

  void forget_oldest() {
    auto const node = lost_.extract(order_.front());
    auto const [from, to] = by_closure_.equal_range(node.mapped().closure);
    by_closure_.erase(
        std::find_if(from, to, [&](auto const& of) { return of.second == node.key(); }));
    order_.pop_front();
  }

  std::size_t const names_max_;
  std::unordered_map<std::string, entry> lost_;
  std::unordered_multimap<core::closure_id, std::string> by_closure_;
  std::deque<std::string> order_;  // oldest first
};

}  // namespace muster::server
