// The result of a simulated run: its trace, event counts and the first violation.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

namespace muster::simulation {

/// Thrown when an invariant is violated; ends the run.
struct violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Event counts by name. Names must be string literals.
class tally {
 public:
  std::uint64_t& operator[](std::string_view what) { return counts_[what]; }
  std::uint64_t of(std::string_view what) const {
    auto const it = counts_.find(what);
    return it == counts_.end() ? 0 : it->second;
  }
  tally& operator+=(tally const& other) {
    for (auto const& [what, n] : other.counts_) counts_[what] += n;
    return *this;
  }
  auto begin() const { return counts_.begin(); }
  auto end() const { return counts_.end(); }

 private:
  std::map<std::string_view, std::uint64_t> counts_;
};

struct report {
  std::uint64_t trace_hash = 0;
  std::uint64_t steps = 0;
  tally counts;
  std::string violation;  // empty if all invariants held and everything finished
  std::string recent;     // the last events before the violation
};

}  // namespace muster::simulation
