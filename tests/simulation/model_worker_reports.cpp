// What a model worker says of closures that run: when they began, that they wait or go on.
#include <algorithm>

#include "tests/simulation/model_worker.hpp"

namespace muster::simulation {

using namespace std::chrono_literals;

void model_worker::report_start(core::closure_id c, std::uint32_t attempt, std::uint64_t life) {
  if (life != life_ || !alive_ || stream_ == core::stream_id{} || !welcomed_) return;
  auto const it = find(c, attempt);
  if (it == holds_.end()) return;  // it has finished
  send(core::worker_results{stream_, {}, {{c, attempt, world_.now() - it->began}}, {}});
}

// Messages may overtake each other here, so it goes on only once the server knows that it waits.
// Half of them answer while they wait.
void model_worker::wait_or_go_on(core::closure_id c, std::uint32_t attempt, std::uint64_t life) {
  if (life != life_ || !alive_ || stream_ == core::stream_id{} || !welcomed_) return;
  auto const it = find(c, attempt);
  if (it == holds_.end()) return;  // it has finished
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
