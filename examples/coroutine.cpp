// Calls the functions in worker.cpp from a coroutine, without blocking a thread:
// coroutine [HOST:PORT]
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <muster/cluster_coordinator.hpp>
#include <vector>

namespace {

boost::asio::awaitable<void> count(muster::cluster_coordinator& coordinator) {
  std::vector<muster::remote_value<std::uint64_t>> primes;
  for (std::uint64_t below = 1000; below <= 64'000; below *= 2) {
    // Waits while the queue is full.
    auto value = co_await coordinator.async_submit<std::uint64_t>("count_primes", below);
    primes.push_back(value);
  }
  for (auto const& value : primes) {
    auto const n = co_await value.async_fetch();
    std::printf("%llu primes\n", static_cast<unsigned long long>(n));
  }
}

}  // namespace

int main(int argc, char** argv) try {
  muster::coordinator_options options;
  options.server = argc > 1 ? argv[1] : "127.0.0.1:8476";
  options.name = "example";
  muster::cluster_coordinator coordinator(options);
  boost::asio::io_context io;
  std::exception_ptr failed;
  boost::asio::co_spawn(io, count(coordinator), [&](std::exception_ptr e) { failed = e; });
  io.run();
  if (failed) std::rethrow_exception(failed);
  return 0;
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
