// Schedules calls of the functions in worker.cpp and prints the results:  session [HOST:PORT]
#include <cstdio>
#include <future>
#include <muster/session.hpp>
#include <vector>

int main(int argc, char** argv) {
  muster::session_options options;
  options.server = argc > 1 ? argv[1] : "127.0.0.1:8476";
  options.name = "example";
  options.continue_on_error = true;
  muster::session session(options);
  try {
    // Calls run at the same time on all available workers.
    std::vector<std::future<std::uint64_t>> primes;
    for (std::uint64_t below = 1000; below <= 64'000; below *= 2)
      primes.push_back(session.call<std::uint64_t>("count_primes", below));
    auto mean = session.call<double>("mean", std::vector<double>{1, 2, 6});
    auto nothing = session.call<double>("mean", std::vector<double>{});

    for (auto& p : primes) std::printf("%llu primes\n", static_cast<unsigned long long>(p.get()));
    std::printf("mean %g\n", mean.get());
    try {
      nothing.get();
    } catch (muster::closure_error const& e) {
      std::printf("failed on %s as it should: %s\n", e.failure().worker.c_str(), e.what());
    }
  } catch (std::exception const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return session.close().empty() ? 0 : 1;
}
