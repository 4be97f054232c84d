// coordination_simulate: see tests/simulation/seed_loop.hpp. `--kills`, first: the server is killed
// now and then.
#include <string_view>

#include "tests/coordination/simulation/simulation.hpp"
#include "tests/simulation/seed_loop.hpp"

int main(int argc, char** argv) {
  using muster::coordination_simulation::report;
  bool const kills = argc > 1 && std::string_view(argv[1]) == "--kills";
  if (kills) argv[1] = argv[0], --argc, ++argv;
  return muster::simulation::run_seeds(
      argc, argv,
      [kills](std::uint64_t seed) {
        return muster::coordination_simulation::simulate(seed, nullptr, kills);
      },
      [](report const& r) {
        std::printf(
            "generations=%llu registered=%llu passed=%llu failed=%llu deaths=%llu told=%llu",
            (unsigned long long)r.generations, (unsigned long long)r.registered,
            (unsigned long long)r.passed, (unsigned long long)r.failed,
            (unsigned long long)r.deaths, (unsigned long long)r.told);
      });
}
