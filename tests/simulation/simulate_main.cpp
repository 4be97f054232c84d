// simulate: see seed_loop.hpp.
#include "tests/simulation/seed_loop.hpp"
#include "tests/simulation/simulation.hpp"

int main(int argc, char** argv) {
  return muster::simulation::run_seeds(
      argc, argv, [](std::uint64_t seed) { return muster::simulation::simulate(seed); },
      [](muster::simulation::report const& r) {
        std::printf(
            "succeeded=%llu failed=%llu cancelled=%llu put_back=%llu went_on=%llu aborted=%llu "
            "raised=%llu resumed=%llu lost=%llu released=%llu written=%llu read=%llu "
            "disk_faults=%llu "
            "dropped=%llu made_again=%llu alone=%llu retries=%llu refused_retries=%llu",
            (unsigned long long)r.succeeded, (unsigned long long)r.failed,
            (unsigned long long)r.cancelled, (unsigned long long)r.put_back,
            (unsigned long long)r.went_on, (unsigned long long)r.aborted,
            (unsigned long long)r.raised, (unsigned long long)r.resumed, (unsigned long long)r.lost,
            (unsigned long long)r.released, (unsigned long long)r.written,
            (unsigned long long)r.read_back, (unsigned long long)r.disk_faults,
            (unsigned long long)r.dropped, (unsigned long long)r.made_again,
            (unsigned long long)r.alone, (unsigned long long)r.retries,
            (unsigned long long)r.refused_retries);
      });
}
