// simulate: see tests/support/simulation/seed_loop.hpp.
#include "tests/simulation/simulation.hpp"
#include "tests/support/simulation/seed_loop.hpp"

int main(int argc, char** argv) {
  return muster::simulation::run_seeds(
      argc, argv, [](std::uint64_t seed) { return muster::simulation::simulate(seed); });
}
