// The command line of a simulator:
//   --seed N             replay one seed and print what happened
//   --from N --count M   many seeds; stops at the first that fails
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace muster::simulation {

/// Returns the exit status of the program. `print` shows what a report counts, without line end.
template <class Simulate, class Print>
int run_seeds(int argc, char** argv, Simulate simulate, Print print) {
  std::uint64_t from = 1, count = 1000;
  for (int i = 1; i < argc; i += 2) {
    std::string_view const flag = argv[i];
    if (i + 1 == argc) return std::fprintf(stderr, "%s needs a number\n", argv[i]), 2;
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
    auto const r = simulate(seed);
    if (count == 1 || !r.violation.empty()) {
      std::printf("seed=%llu steps=%llu hash=%016llx ", (unsigned long long)seed,
                  (unsigned long long)r.steps, (unsigned long long)r.trace_hash);
      print(r);
      std::printf("\n");
    }
    if (!r.violation.empty())
      return std::printf("%s\n%s", r.violation.c_str(), r.recent.c_str()), 1;
  }
  return 0;
}

}  // namespace muster::simulation
