#include <algorithm>

#include "tests/simulation/model_worker.hpp"

namespace muster::simulation {

using namespace std::chrono_literals;

void model_worker::report_start(core::closure_id c, std::uint32_t attempt, std::uint64_t life) {
  if (life != life_ || !alive_ || stream_ == core::stream_id{} || !welcomed_) return;
  auto const it = find(c, attempt);
  if (it == holds_.end()) return;
  send(core::worker_results{stream_, {}, {{c, attempt, world_.now() - it->began}}, {}});
}

// Gives up the slot after two seconds without an input, for example to recompute the input.
model_memory::place model_worker::look_for_inputs(held& h) {
  auto found = model_memory::place::here;
  if (h.what.inputs)
    for (auto const& input : *h.what.inputs)
      found = std::max(found, memory_.look(input, {stream_, h.what.closure, h.what.attempt}));
  if (found != model_memory::place::awaited) return found;
  auto const c = h.what.closure;
  auto const attempt = h.what.attempt;
  auto const life = life_;
  if (h.lacks_since == core::time_point{}) {
    h.lacks_since = world_.now();
    ++world_.counts["lacked"];
  }
  world_.after(300ms, [this, c, attempt, life] { finish(c, attempt, life); });
  auto const waiting = static_cast<std::uint32_t>(
      std::count_if(holds_.begin(), holds_.end(), [](held const& of) { return of.waits; }));
  bool const linked = stream_ != core::stream_id{} && welcomed_;
  if (!h.waits && linked && world_.now() >= h.lacks_since + 2s && waiting < nested_max_) {
    h.waits = true;
    send(core::worker_results{stream_, {}, {}, {}, {{c, attempt, true}}});
    execute_next();
  }
  return found;
}

core::blob model_worker::value_of(core::blob const& args) {
  return makes_large(args) ? memory_.make(args, incarnation_) : value_for(args);
}

// Continues only after the server knows of the wait, because messages can overtake each other.
void model_worker::wait_or_go_on(core::closure_id c, std::uint32_t attempt, std::uint64_t life) {
  if (life != life_ || !alive_ || stream_ == core::stream_id{} || !welcomed_) return;
  auto const it = find(c, attempt);
  if (it == holds_.end()) return;
  auto const waiting = static_cast<std::uint32_t>(
      std::count_if(holds_.begin(), holds_.end(), [](held const& h) { return h.waits; }));
  if (!it->waits && waiting >= nested_max_) return;
  it->waits = !it->waits;
  world_.counts["waited"] += it->waits;
  send(core::worker_results{stream_, {}, {}, {}, {{c, attempt, it->waits}}});
  execute_next();
  if (it->waits && world_.dice().chance(50))
    world_.after(50ms, [this, c, attempt, life] { wait_or_go_on(c, attempt, life); });
}

}  // namespace muster::simulation
