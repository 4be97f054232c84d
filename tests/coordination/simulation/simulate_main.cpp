// coordination_simulate [--kills]: see tests/support/simulation/seed_loop.hpp. `--kills` kills the
// server now and then.
#include <string_view>

#include "tests/coordination/simulation/simulation.hpp"
#include "tests/support/simulation/seed_loop.hpp"

int main(int argc, char** argv) {
  bool const kills = argc > 1 && std::string_view(argv[1]) == "--kills";
  if (kills) argv[1] = argv[0], --argc, ++argv;
  return muster::simulation::run_seeds(argc, argv, [kills](std::uint64_t seed) {
    return muster::coordination_simulation::simulate(seed, nullptr, kills);
  });
}
