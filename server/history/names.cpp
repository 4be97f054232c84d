#include "server/history/names.hpp"

#include <utility>

namespace muster::history {

namespace {
constexpr duration search_interval = std::chrono::seconds(10);
}  // namespace

std::string names::key_of(function const& f) {
  return (f.callable ? f.hash + '#' : std::string("-")) + f.served + '\n' + f.name;
}

void names::fold(changes const& c, time_point now) {
  for (auto const& f : c.functions) {
    auto const n = raw(f.function);
    if (n >= own_.size()) own_.resize(n + std::size_t{1});
    if (!f.here) {
      own_[n] = own_[raw(f.served)];
      continue;
    }
    auto const served = f.callable ? functions_[raw(own_[raw(f.served)])].served : f.name;
    own_[n] = f.callable ? own_[raw(f.served)] : function_id{};
    own_[n] = number_of({f.name, served, f.hash, f.callable}, now);
  }
}

function_id names::number_of(function f, time_point now) {
  auto key = key_of(f);
  if (auto const it = numbers_.find(key); it != numbers_.end()) return it->second;
  auto const most = config_.functions_max + 2 * config_.callables_max;
  if (numbers_.size() >= most && now >= next_check_at_) {
    forget_unused();
    next_check_at_ = now + search_interval;
  }
  if (numbers_.size() >= most && f.callable) return number_of({f.served, f.served, {}, false}, now);
  auto n = function_id{static_cast<std::uint32_t>(functions_.size())};
  if (free_.empty()) {
    functions_.push_back(std::move(f));
  } else {
    n = free_.back();
    free_.pop_back();
    functions_[raw(n)] = std::move(f);
  }
  numbers_.emplace(std::move(key), n);
  return n;
}

void names::forget_unused() {
  std::vector<bool> used(functions_.size());
  for (auto const n : own_)
    if (raw(n) < used.size()) used[raw(n)] = true;
  in_use_([&](function_id n) { used[raw(n)] = true; });
  for (auto it = numbers_.begin(); it != numbers_.end();) {
    auto const n = it->second;
    if (used[raw(n)] || !functions_[raw(n)].callable) {
      ++it;
      continue;
    }
    functions_[raw(n)] = {};
    free_.push_back(n);
    it = numbers_.erase(it);
  }
}

}  // namespace muster::history
