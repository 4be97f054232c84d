// Where attempts ran: worker name, incarnation and host, shared by all closures that ran there and
// kept as long as one of them, or the worker itself, is known. Owned by the coordinator; bounded by
// the attempts that records remember.
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

  /// `out`, where the names are told, outlives it.
  explicit place_table(changes& out) : changes_(out) {}

  /// A new place with one reference.
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
  /// What was given back may be used again: in a step one number is one place.
  void begin_step() {
    free_.insert(free_.end(), given_back_.begin(), given_back_.end());
    given_back_.clear();
  }
  void hold(std::uint32_t id) { ++places_[id].references; }
  void release(std::uint32_t id) {
    if (id == none) return;
    check(places_[id].references > 0, "a place is released as often as it was held");
    if (--places_[id].references == 0) forget(id);
  }
  place const& operator[](std::uint32_t id) const { return places_[id]; }
  std::uint32_t used() const { return static_cast<std::uint32_t>(places_.size()); }

 private:
  [[gnu::noinline]] void forget(std::uint32_t id) {  // seldom: keeps `release` small
    changes_.places.push_back({id, false, {}, {}, {}});
    places_[id] = {};
    given_back_.push_back(id);
  }

  changes& changes_;
  std::vector<place> places_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> given_back_;  // in this step
};

}  // namespace muster::core
