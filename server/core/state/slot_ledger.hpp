// Adapts the scheduler's resources to the program controller's ledger. Owned by engine_state.
#pragma once

#include "server/core/programs/ledger.hpp"
#include "server/core/scheduling/scheduler.hpp"

namespace muster::core {

class slot_ledger final : public programs::ledger {
 public:
  explicit slot_ledger(core::scheduler& s) : scheduler_(s) {}

  programs::worker_resources find(stream_id worker) const override {
    auto const* w = scheduler_.find(worker);
    if (!w) return {};
    return {w->open && w->placed, &w->free, &w->resources, &w->labels};
  }
  bool take(stream_id worker, named_amounts const& amounts) override {
    auto* w = scheduler_.find(worker);
    return w && scheduler_.lend(*w, amounts);
  }
  void give_back(stream_id worker, named_amounts const& amounts) override {
    if (auto* w = scheduler_.find(worker)) scheduler_.return_lent(*w, amounts);
  }
  std::uint64_t version() const override { return scheduler_.capacity_version(); }

 private:
  core::scheduler& scheduler_;
};

}  // namespace muster::core
