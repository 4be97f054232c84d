// Names of large values that went with their worker, and what their closures have made in their
// place: closures that were handed such a name before it was lost still ask for it. Owned by the
// blob_store; engine thread only.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "server/core/api/ids.hpp"
#include "server/core/api/time.hpp"

namespace muster::server {

class lost_names {
 public:
  /// More are not remembered: who asks for them is told that they are gone.
  static constexpr std::size_t names_max = 100'000;
  /// A closure that is asked for once is not asked for again sooner.
  static constexpr core::duration asked_every = std::chrono::minutes(10);

  void add(std::string_view name, core::closure_id closure) {
    if (lost_.size() < names_max) lost_.try_emplace(std::string(name), entry{closure, {}, {}});
  }
  /// The closure's value is this one now.
  void made_again(core::closure_id closure, std::string_view name) {
    for (auto& [lost, e] : lost_)
      if (e.closure == closure && lost != name) e.now = name;
  }
  /// What is to be asked for in its place; itself, unless it was lost and made again.
  std::string current(std::string_view name) const {
    auto const it = lost_.find(std::string(name));
    return it == lost_.end() || it->second.now.empty() ? std::string(name) : it->second.now;
  }
  /// It was lost, and is not made again.
  bool is_missing(std::string_view name) const {
    auto const it = lost_.find(std::string(name));
    return it != lost_.end() && it->second.now.empty();
  }
  /// The closure that is to run again for it, once in a while.
  std::optional<core::closure_id> ask(std::string_view name, core::time_point now) {
    auto const it = lost_.find(std::string(name));
    if (it == lost_.end() || !it->second.now.empty() || now < it->second.ask_at) return {};
    it->second.ask_at = now + asked_every;
    return it->second.closure;
  }
  bool empty() const { return lost_.empty(); }

 private:
  struct entry {
    core::closure_id closure{};
    std::string now;  // empty: it is not made again
    core::time_point ask_at{};
  };
  std::map<std::string, entry> lost_;
};

}  // namespace muster::server
