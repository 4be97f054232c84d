// Counters of programs for /metrics, since the start of this process. Owned by a cluster's history;
// used only on the engine thread.
#pragma once

#include <array>
#include <cstdint>

#include "server/core/api/changes.hpp"

namespace muster::history {

struct program_totals {
  std::array<std::uint64_t, enum_size<core::program_state>> finished{};
  std::array<std::uint64_t, enum_size<core::program_end>> attempts{};
  std::uint64_t restarts = 0;  // excluding first attempts

  program_totals& operator+=(program_totals const& o) {
    for (std::size_t i = 0; i < finished.size(); ++i) finished[i] += o.finished[i];
    for (std::size_t i = 0; i < attempts.size(); ++i) attempts[i] += o.attempts[i];
    restarts += o.restarts;
    return *this;
  }
};

class program_meter {
 public:
  void fold(core::changes const& c) {
    for (auto const& p : c.programs) {
      if (p.gone) continue;
      if (p.end != core::program_end::none) ++totals_.attempts[static_cast<std::size_t>(p.end)];
      if (core::ended(p.state)) ++totals_.finished[static_cast<std::size_t>(p.state)];
      totals_.restarts += p.state == core::program_state::starting && p.attempt > 1;
    }
  }
  program_totals const& totals() const { return totals_; }

 private:
  program_totals totals_;
};

}  // namespace muster::history
