// Clients of calls in C++, and a worker with functions in C++ that they call.
//
//   robustness_calls --server HOST:PORT[,…] --effects FILE --history FILE --name NAME --seed N
//                    --rate CALLS_A_SECOND
//   robustness_calls --server HOST:PORT[,…] --index N --marks FOLDER
//
// Clients submit calls until SIGTERM, and write the same history as clients/coordinator.py.
#include <csignal>
#include <cstdio>
#include <memory>
#include <muster/worker.hpp>
#include <thread>

#include "tests/robustness/calls/call_batches.hpp"
#include "tests/robustness/calls/single_calls.hpp"

namespace {

using namespace robustness;
using flag_map = std::map<std::string, std::string>;

volatile std::sig_atomic_t stopping = 0;

bool has_all(flag_map const& flags, std::initializer_list<char const*> names) {
  for (auto const* name : names) {
    if (flags.contains(name)) continue;
    std::fprintf(stderr, "robustness_calls: --%s is missing\n", name);
    return false;
  }
  return true;
}

/// Runs one client in one session after the other until SIGTERM.
template <class Client>
void run_client(flag_map const& flags, recorder const& history) {
  using namespace std::chrono_literals;
  Client client(flags, history);
  muster::coordinator_options options;
  options.server = flags.at("server");
  options.name = flags.at("name") + std::string(Client::suffix);
  while (!stopping) {
    try {
      muster::cluster_coordinator coordinator(options);
      client.run(coordinator, [] { return stopping != 0; });
    } catch (muster::unavailable_error const& e) {
      history.write({{"kind", "session_lost"}, {"error", e.what()}, {"at", now()}});
      std::this_thread::sleep_for(200ms);
    }
  }
}

int run_clients(flag_map const& flags) {
  if (!has_all(flags, {"server", "effects", "history", "name", "seed", "rate"})) return 2;
  std::signal(SIGTERM, [](int) { stopping = 1; });
  recorder const history(flags.at("history"));
  if (!history.is_open()) {
    std::perror("robustness_calls: the history cannot be opened");
    return 1;
  }
  std::jthread const batches([&] { run_client<call_batches>(flags, history); });
  run_client<single_calls>(flags, history);
  return 0;
}

muster::worker* running_worker = nullptr;

int run_worker(flag_map const& flags) {
  if (!has_all(flags, {"server", "index", "marks"})) return 2;
  muster::worker_options options;
  options.server = flags.at("server");
  options.index = static_cast<std::uint32_t>(std::stoul(flags.at("index")));
  options.credits = 256;
  muster::worker worker(options);
  std::map<std::string, std::unique_ptr<marks>> files;  // quick functions share a thread
  auto const mark = [&](std::string const& name, std::uint64_t number) {
    auto& file = files[name];
    if (!file) file = std::make_unique<marks>(flags.at("marks") + '/' + name);
    file->add(number);
  };
  worker.quick_function("robustness.mark",
                        [&](std::string const& name, std::uint64_t number, std::int64_t n) {
                          mark(name, number);
                          return n * 7 + 1;
                        });
  worker.quick_function("robustness.mark_sum", [&](std::string const& name, std::uint64_t number,
                                                   std::int64_t left, std::int64_t right) {
    mark(name, number);
    return left + right;
  });
  running_worker = &worker;
  std::signal(SIGTERM, [](int) { running_worker->stop(); });
  return worker.run();
}

}  // namespace

int main(int argc, char** argv) {
  flag_map flags;
  for (int i = 1; i + 1 < argc; i += 2) flags[std::string(argv[i]).substr(2)] = argv[i + 1];
  return flags.contains("marks") ? run_worker(flags) : run_clients(flags);
}
