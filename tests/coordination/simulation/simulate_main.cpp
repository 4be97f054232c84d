// coordination_simulate --seed N            replay one seed and print what happened
// coordination_simulate --from N --count M  many seeds, stops at the first that fails
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/coordination/simulation/simulation.hpp"

int main(int argc, char** argv) {
  std::uint64_t from = 1, count = 1000;
  for (int i = 1; i + 1 < argc; i += 2) {
    std::string_view const flag = argv[i];
    auto const value = std::strtoull(argv[i + 1], nullptr, 10);
    if (flag == "--seed")
      from = value, count = 1;
    else if (flag == "--from")
      from = value;
    else if (flag == "--count")
      count = value;
    else
      return std::fprintf(stderr, "unknown flag %s\n", argv[i]), 2;
  }
  for (std::uint64_t seed = from; seed < from + count; ++seed) {
    auto const r = muster::coordination_simulation::simulate(seed);
    if (count == 1 || !r.violation.empty())
      std::printf(
          "seed=%llu steps=%llu hash=%016llx generations=%llu registered=%llu passed=%llu "
          "failed=%llu deaths=%llu told=%llu\n",
          (unsigned long long)seed, (unsigned long long)r.steps, (unsigned long long)r.trace_hash,
          (unsigned long long)r.generations, (unsigned long long)r.registered,
          (unsigned long long)r.passed, (unsigned long long)r.failed, (unsigned long long)r.deaths,
          (unsigned long long)r.told);
    if (!r.violation.empty())
      return std::printf("%s\n%s", r.violation.c_str(), r.recent.c_str()), 1;
  }
  return 0;
}
