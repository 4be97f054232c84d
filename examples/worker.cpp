// A worker that provides two functions:  worker [HOST:PORT]
#include <csignal>
#include <muster/function_error.hpp>
#include <muster/worker.hpp>
#include <string>
#include <vector>

namespace {

muster::worker* running = nullptr;

double mean(std::vector<double> const& numbers) {
  if (numbers.empty()) throw muster::function_error("the mean of nothing", "value_error");
  double sum = 0;
  for (double n : numbers) sum += n;
  return sum / static_cast<double>(numbers.size());
}

// Long functions take the context and check cancelled() regularly.
std::uint64_t count_primes(muster::context& context, std::uint64_t below) {
  std::uint64_t count = 0;
  for (std::uint64_t n = 2; n < below; ++n) {
    bool prime = true;
    for (std::uint64_t d = 2; prime && d * d <= n; ++d) prime = n % d != 0;
    count += prime ? 1 : 0;
    if (n % 1024 == 0 && context.cancelled()) throw muster::function_error("cancelled");
  }
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  muster::worker_options options;
  options.server = argc > 1 ? argv[1] : "127.0.0.1:8476";
  options.slots = 2;
  muster::worker worker(options);
  worker.function("mean", mean, {"numbers"});
  worker.function("count_primes", count_primes, {"below"});

  running = &worker;
  for (int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { running->stop(); });
  return worker.run();
}
