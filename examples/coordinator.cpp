// Calls the functions in worker.cpp, with outputs as arguments:  coordinator [HOST:PORT]
#include <cstdint>
#include <cstdio>
#include <muster/cluster_coordinator.hpp>
#include <vector>

int main(int argc, char** argv) {
  muster::coordinator_options options;
  options.server = argc > 1 ? argv[1] : "127.0.0.1:8476";
  options.name = "example";
  muster::cluster_coordinator coordinator(options);
  try {
    std::vector<muster::remote_value<std::uint64_t>> primes;
    for (std::uint64_t below = 1000; below <= 64'000; below *= 2)
      primes.push_back(coordinator.submit<std::uint64_t>("count_primes", below));
    // Workers send the outputs to each other; this does not block.
    auto const mean = coordinator.submit<double>("mean", primes);
    auto const nothing = coordinator.submit<double>("mean", std::vector<double>{});
    std::printf("mean %g\n", mean.fetch());
    nothing.fetch();  // throws the error of this call, which affects no other call
  } catch (muster::closure_error const& e) {
    std::printf("failed on %s as it should: %s\n", e.worker().c_str(), e.what());
  }
}
