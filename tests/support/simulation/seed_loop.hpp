// The command line of a simulator:
//   --seed N             replay one seed and print what happened
//   --from N --count M   many seeds; stops at the first that fails, says why and how to replay it
#pragma once

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace muster::simulation {

/// The running seed, so that an abort can print how to replay it.
struct running_seed {
  char const* program = "";
  std::uint64_t seed = 0;

  void print_replay() const {
    std::printf("replay: %s --seed %llu\n", program, (unsigned long long)seed);
    std::fflush(stdout);
  }
};
inline running_seed running;

/// Returns the exit status.
template <class Simulate>
int run_seeds(int argc, char** argv, Simulate simulate) {
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
  running.program = argv[0];
  std::signal(SIGABRT, [](int) { running.print_replay(); });
  for (std::uint64_t seed = from; seed < from + count; ++seed) {
    running.seed = seed;
    auto const r = simulate(seed);
    if (count == 1 || !r.violation.empty()) {
      std::printf("seed=%llu steps=%llu hash=%016llx", (unsigned long long)seed,
                  (unsigned long long)r.steps, (unsigned long long)r.trace_hash);
      for (auto const& [what, n] : r.counts)
        std::printf(" %s=%llu", std::string(what).c_str(), (unsigned long long)n);
      std::printf("\n");
    }
    if (r.violation.empty()) continue;
    std::printf("%s\n%s", r.violation.c_str(), r.recent.c_str());
    running.print_replay();
    return 1;
  }
  return 0;
}

}  // namespace muster::simulation
