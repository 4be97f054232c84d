#include "server/net/abuse/leaky_counts.hpp"

#include <algorithm>
#include <utility>

namespace muster::net {

bool leaky_counts::note(std::string const& name, clock::time_point now) {
  if (young_.size() * 2 >= limits_.names_max && !young_.contains(name)) {
    old_ = std::move(young_);
    young_.clear();
  }
  bucket b{0, now};
  if (auto const node = old_.extract(name)) b = node.mapped();
  auto& own = young_.try_emplace(name, b).first->second;
  auto const passed = std::chrono::duration<double>(now - own.at).count();
  own = {std::max(0.0, own.filled - passed * limits_.per_second) + 1, now};
  if (own.filled <= limits_.burst) return false;
  young_.erase(name);
  return true;
}

void leaky_counts::forget(std::string const& name) {
  young_.erase(name);
  old_.erase(name);
}

}  // namespace muster::net
