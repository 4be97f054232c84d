// A simple and slow reference model of torch's TCPStore.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace muster::torch {

struct key_model {
  using who = std::uint64_t;

  std::map<std::string, std::string> keys;
  std::map<std::string, std::deque<std::string>> queues;
  std::map<who, std::multiset<std::string>> waits;
  std::vector<who> order;  // in the order of their waits
  std::map<who, std::string> at_barriers;
  std::vector<who> woken;

  bool there(std::string const& k) const { return keys.contains(k) || queues.contains(k); }
  std::size_t entries() const {
    auto n = keys.size();
    for (auto const& [k, queue] : queues) n += queue.size();
    return n;
  }
  std::size_t waits_for(who w) const {
    return waits.contains(w) ? waits.at(w).size() : at_barriers.count(w);
  }

  void set(std::string const& k, std::string const& value) {
    keys[k] = value;
    came(k, false);
  }
  std::optional<std::int64_t> add(std::string const& k, std::int64_t delta) {
    std::int64_t n = 0;
    if (keys.contains(k)) {
      char* end = nullptr;
      n = std::strtoll(keys[k].c_str(), &end, 10);
      if (end == keys[k].c_str()) return std::nullopt;
    }
    set(k, std::to_string(n + delta));
    return n + delta;
  }
  std::string compare_set(std::string const& k, std::string const& expected,
                          std::string const& desired) {
    if (keys.contains(k) && keys[k] != expected) return keys[k];
    if (!keys.contains(k) && !expected.empty()) return expected;
    set(k, desired);
    return desired;
  }
  void append(std::string const& k, std::string const& value) { set(k, keys[k] + value); }
  bool erase(std::string const& k) { return keys.erase(k) == 1; }
  std::size_t length(std::string const& k) const {
    return queues.contains(k) ? queues.at(k).size() : 0;
  }
  void push(std::string const& k, std::string const& value) {
    queues[k].push_back(value);
    came(k, true);
  }
  std::string pop(std::string const& k) {
    auto value = queues[k].front();
    queues[k].pop_front();
    if (queues[k].empty()) queues.erase(k);
    return value;
  }

  bool wait(who w, std::vector<std::string> const& wanted) {
    std::multiset<std::string> absent;
    for (auto const& k : wanted)
      if (!there(k)) absent.insert(k);
    if (absent.empty()) return true;
    waits[w] = absent;
    order.push_back(w);
    return false;
  }
  std::optional<bool> arrive(who w, std::string const& k, std::int64_t world) {
    auto const count = add(k, 1);
    if (!count) return std::nullopt;
    if (*count < world) {
      at_barriers[w] = k;
      return false;
    }
    for (auto const& [other, key] : at_barriers)
      if (key == k) woken.push_back(other);
    std::erase_if(at_barriers, [&](auto const& one) { return one.second == k; });
    return true;
  }
  void leave(who w) {
    waits.erase(w);
    std::erase(order, w);
    at_barriers.erase(w);
  }
  void came(std::string const& k, bool one) {
    for (auto const w : std::vector<who>(order)) {
      auto n = waits.at(w).count(k);
      if (n == 0) continue;
      if (one) n = 1;
      for (; n > 0; --n) waits.at(w).erase(waits.at(w).find(k));
      if (waits.at(w).empty()) {
        woken.push_back(w);
        leave(w);
      }
      if (one) return;
    }
  }
};

}  // namespace muster::torch
