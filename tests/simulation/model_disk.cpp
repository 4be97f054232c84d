#include "tests/simulation/model_disk.hpp"

#include <algorithm>

namespace muster::simulation {

using namespace std::chrono_literals;

void model_disk::perform(core::effects const& fx) {
  for (auto const& m : fx.value_moves) {
    if (m.kind == core::move_kind::write) later([this, m] { write(m); });
    if (m.kind == core::move_kind::read) later([this, id = m.closure] { read_back(id); });
    if (m.kind == core::move_kind::forget) later([this, id = m.closure] { forget(id); });
  }
}

void model_disk::later(std::function<void()> what) {
  auto& dice = world_.dice();
  auto const took = dice.chance(95) ? dice.between(10, 2'000) : dice.between(2'000, 500'000);
  busy_until_ = std::max(busy_until_, world_.now()) + core::duration(took);
  world_.after(busy_until_ - world_.now(), std::move(what));
}

void model_disk::write(core::value_move const& m) {
  auto& dice = world_.dice();
  if (faulty_ && dice.chance(1)) full_until_ = world_.now() + 3s;
  bool const ok = !faulty_ || world_.now() >= full_until_;
  if (ok && !values_.emplace(m.closure, m.value).second)
    throw violation("a value was written while it was there");
  ++world_.counts[ok ? "written" : "disk_faults"];
  world_.apply(core::values_moved{
      {{core::move_kind::write, m.closure, ok, {}, ok ? "" : "no space left on device"}}});
}

void model_disk::read_back(core::closure_id id) {
  auto const it = values_.find(id);
  if (it == values_.end()) throw violation("a value was read that is not on the disk");
  bool const ok = !faulty_ || !world_.dice().chance(3);
  ++world_.counts[ok ? "read" : "disk_faults"];
  world_.apply(core::values_moved{{{core::move_kind::read, id, ok, ok ? it->second : core::blob(),
                                    ok ? "" : "input/output error"}}});
}

void model_disk::forget(core::closure_id id) {
  values_.erase(id);  // may be missing if its write failed
}

}  // namespace muster::simulation
