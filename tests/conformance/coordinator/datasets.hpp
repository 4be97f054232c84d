// Datasets are builders that each worker calls.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "muster/worker.hpp"

namespace muster::test {

inline std::atomic<int> live_iterators = 0;

struct iterator {
  explicit iterator(std::vector<int> all) : elements(std::move(all)) { ++live_iterators; }
  ~iterator() { --live_iterators; }
  iterator(iterator const&) = delete;
  int next() { return elements.at(position++); }

  std::vector<int> elements;
  std::size_t position = 0;
};

inline std::vector<int> range(int n) {
  std::vector<int> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

inline void add_datasets(worker& w) {
  using shared = std::shared_ptr<iterator>;
  w.function("dataset", [](int n) { return std::make_shared<iterator>(range(n)); });
  w.function("shuffled", [](int n) {
    auto all = range(n);
    std::shuffle(all.begin(), all.end(), std::mt19937(std::random_device{}()));
    return std::make_shared<iterator>(std::move(all));
  });
  w.function("sharded", [](context& at, int n) {
    std::vector<int> mine;
    for (auto i = at.index(); i < static_cast<std::uint32_t>(n); i += at.num_workers())
      mine.push_back(static_cast<int>(i));
    return std::make_shared<iterator>(std::move(mine));
  });
  w.function("counter", [] { return std::make_shared<std::atomic<int>>(0); });

  w.function("next", [](shared it) { return it->next(); });
  w.function("next_of_both", [](shared a, shared b) { return std::pair{a->next(), b->next()}; });
  w.function("next_of_all", [](std::vector<shared> all) {
    int sum = 0;
    for (auto const& it : all) sum += it->next();
    return sum;
  });
  w.function("next_of_named",
             [](std::map<std::string, shared> by_name) { return by_name.begin()->second->next(); },
             {"by_name"});
  w.function("next_of_pair", [](std::pair<shared, int> p) { return p.first->next() + p.second; });
  w.function("rest", [](shared it) {
    return std::vector(it->elements.begin() + static_cast<std::ptrdiff_t>(it->position),
                       it->elements.end());
  });
  w.function("add", [](std::shared_ptr<std::atomic<int>> to, int n) { return *to += n; });
}

}  // namespace muster::test
