// The disk behind the coordinator, as the simulation sees it: slow, at times full, at times it does
// not give back what it took. Its books say that a value is written once, read only while it is
// there, and that what is forgotten everywhere else does not stay here.
#pragma once

#include <map>

#include "tests/simulation/world.hpp"

namespace muster::simulation {

class model_disk {
 public:
  explicit model_disk(world& w) : world_(w) {}

  void perform(core::effects const& fx);
  /// No more faults.
  void heal() { faulty_ = false; }
  std::size_t size() const { return values_.size(); }

 private:
  void write(core::value_move const& m);
  void read_back(core::closure_id id);
  void forget(core::closure_id id);
  /// In the order in which it was asked, after a while.
  void later(std::function<void()> what);

  world& world_;
  bool faulty_ = true;
  core::time_point busy_until_{};
  core::time_point full_until_{};
  std::map<core::closure_id, core::blob> values_;
};

}  // namespace muster::simulation
