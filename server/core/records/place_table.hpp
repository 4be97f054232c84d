// Places where attempts ran, shared by closures. A place is kept while its closures or its worker
// are known. Owned by the coordinator; limited by the number of recorded attempts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "server/core/api/changes.hpp"

namespace muster::core {

struct place {
  std::string worker;  // "worker:3"
  core::incarnation incarnation{};
  std::string host;
  std::uint32_t references = 0;
};

class place_table {
 public:
  static constexpr std::uint32_t none = ~0u;

  /// `out` receives name changes. It must outlive the table.
  explicit place_table(changes& out) : changes_(out) {}

  /// Adds a place with one reference.
  std::uint32_t add(std::string worker, core::incarnation i, std::string host) {
    std::uint32_t id;
    if (free_.empty()) {
      id = static_cast<std::uint32_t>(places_.size());
      places_.emplace_back();
    } else {
      id = free_.back();
      free_.pop_back();
    }
    changes_.places.push_back({id, true, worker, i, host});
    places_[id] = {std::move(worker), i, std::move(host), 1};
    return id;
  }
  /// Makes released numbers available again. A number denotes only one place within a step.
  void begin_step() {
    free_.insert(free_.end(), released_this_step_.begin(), released_this_step_.end());
    released_this_step_.clear();
  }
  void hold(std::uint32_t id) { ++places_[id].references; }
  void release(std::uint32_t id) {
    if (id == none) return;
    check(places_[id].references > 0,
          "a place must not be released more often than it was acquired");
    if (--places_[id].references == 0) forget(id);
  }
  place const& operator[](std::uint32_t id) const { return places_[id]; }
  std::uint32_t used() const { return static_cast<std::uint32_t>(places_.size()); }

 private:
  // Not inlined, so that `release` stays small.
  [[gnu::noinline]] void forget(std::uint32_t id) {
    changes_.places.push_back({id, false, {}, {}, {}});
    places_[id] = {};
    released_this_step_.push_back(id);
  }

  changes& changes_;
  std::vector<place> places_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> released_this_step_;
};

}  // namespace muster::core
