// Places where attempts ran, stored while a row refers to them. The core reuses its place numbers,
// so rows use the numbers of this table. Owned by session_rows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "server/core/api/changes.hpp"

namespace muster::history {

using namespace muster::core;

class places {
 public:
  static constexpr std::uint32_t none = ~0u;

  struct place {
    std::string worker;  // for example "worker:3"
    core::incarnation incarnation{};
    std::string host;
    std::uint32_t references = 0;
  };

  std::uint32_t add(std::string worker, core::incarnation i, std::string host) {
    auto n = static_cast<std::uint32_t>(all_.size());
    if (free_.empty()) {
      all_.emplace_back();
    } else {
      n = free_.back();
      free_.pop_back();
    }
    all_[n] = {std::move(worker), i, std::move(host), 1};
    return n;
  }
  void hold(std::uint32_t n) { ++all_[n].references; }
  void release(std::uint32_t n) {
    if (n == none) return;
    check(all_[n].references > 0, "a place must not be released more often than it was acquired");
    if (--all_[n].references > 0) return;
    all_[n] = {};
    free_.push_back(n);
  }
  place const& operator[](std::uint32_t n) const { return all_[n]; }
  std::size_t used() const { return all_.size() - free_.size(); }

  /// Must be called before the step's rows are added.
  void learn(changes const& c) {
    for (auto const& p : c.places) {
      if (!p.here) continue;
      if (p.place >= of_core_.size()) of_core_.resize(p.place + std::size_t{1}, none);
      of_core_[p.place] = add(p.worker, p.incarnation, p.host);
    }
  }
  /// Must be called after the step's rows are added.
  void forget(changes const& c) {
    for (auto const& p : c.places)
      if (!p.here) release(std::exchange(of_core_[p.place], none));
  }
  std::uint32_t of(std::uint32_t core) const { return core == none ? none : of_core_[core]; }

 private:
  std::vector<place> all_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> of_core_;  // by the core's place number
};

}  // namespace muster::history
