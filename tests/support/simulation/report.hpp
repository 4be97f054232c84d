// What a simulated run tells: its trace, what came about how often, and what broke.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

namespace muster::simulation {

/// Thrown where a rule is broken; ends the run.
struct violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// How often each thing came about, by its name. Names are literals.
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
  std::string violation;  // empty: all invariants held and everything finished
  std::string recent;     // the last events before it
};

}  // namespace muster::simulation
