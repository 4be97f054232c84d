#include "tests/journal/killed_world.hpp"

#include <algorithm>
#include <utility>

namespace muster::server::journal {

killed_world::killed_world(std::uint64_t seed, core::config c) : server_(seed, std::move(c)) {}

void killed_world::crash() {
  server_.kill();
  workers_.lose_sight();
  lose_touch();
  server_.start();
  check_known();
}

void killed_world::go_on(std::int64_t roll) {
  if (roll <= 90) return server_.write_some(static_cast<std::size_t>(dice_.between(1, 4)));
  if (roll <= 92) return crash();
  bool const much = roll > 97;
  workers_.work_on(much);
  if (!much || dice_.chance(50)) return;
  server_.write_all();
  crash();
  for (int i = 0; i < 3; ++i) workers_.come_back();
}

void killed_world::work_well() {
  workers_.answer_one(true);
  server_.write_all();
}

void killed_world::pass_time() {
  server_.advance(
      std::min(server_.core().next_deadline(), server_.now() + std::chrono::milliseconds(100)));
  server_.step(core::tick{});
  workers_.stay_alive();
}

simulation::report killed_world::run() {
  simulation::report r;
  try {
    server_.start();
    live();
  } catch (simulation::violation const& v) {
    r.violation = v.what();
  }
  r.counts = server_.counts;
  return r;
}

}  // namespace muster::server::journal
