// A disk that is slow, sometimes full, sometimes unreadable. Values are written once, read only
// while stored, and deleted when forgotten.
#pragma once

#include <map>

#include "tests/simulation/world.hpp"

namespace muster::simulation {

class model_disk {
 public:
  explicit model_disk(world& w) : world_(w) {}

  void perform(core::effects const& fx);
  void heal() { faulty_ = false; }
  std::size_t size() const { return values_.size(); }

 private:
  void write(core::value_move const& m);
  void read_back(core::closure_id id);
  void forget(core::closure_id id);
  /// Runs `what` later, in the order of the calls.
  void later(std::function<void()> what);

  world& world_;
  bool faulty_ = true;
  core::time_point busy_until_{};
  core::time_point full_until_{};
  std::map<core::closure_id, core::blob> values_;
};

}  // namespace muster::simulation
