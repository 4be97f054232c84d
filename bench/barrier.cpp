// How long do N tasks take to register, to pass a barrier, and to learn that one has left?
//
// The result of a barrier is the time from the last arrival to the last release. All clients run in
// one process, over up to 64 connections.
#include <unistd.h>

#include "bench/agents.hpp"
#include "bench/coordination.hpp"

namespace muster::bench {

namespace {

using namespace std::chrono_literals;
using clock = agents::clock;

double milliseconds(clock::duration d) {
  return std::chrono::duration<double, std::milli>(d).count();
}

struct rounds {
  std::vector<double> last_to_last, whole;
  // CPU time of the releases, of the server and of this process with all clients.
  std::chrono::microseconds server_cpu{}, client_cpu{};
};

// In each round the last task arrives after all others have settled. A round in which all arrive at
// once follows.
rounds pass_barriers(agents& all, coordination_target const& target, int count) {
  rounds r;
  auto const n = all.count();
  for (int round = 0; round < count; ++round) {
    auto const id = "bench_" + std::to_string(round);
    int released = 0;
    all.enter(id, 0, n - 1, released);
    all.run_for(std::chrono::milliseconds(40 + n / 10));
    auto const server_cpu = target.cpu_time(), client_cpu = cpu_time_of(getpid());
    auto const last = clock::now();
    all.enter(id, n - 1, n, released);
    all.run([&] { return released == n; }, 60s);
    r.last_to_last.push_back(milliseconds(clock::now() - last));
    r.server_cpu += target.cpu_time() - server_cpu;
    r.client_cpu += cpu_time_of(getpid()) - client_cpu;

    released = 0;
    auto const begin = clock::now();
    all.enter(id + "_together", 0, n, released);
    all.run([&] { return released == n; }, 60s);
    r.whole.push_back(milliseconds(clock::now() - begin));
  }
  return r;
}

std::int64_t watch_version(agents& all) {
  std::int64_t version = -2;
  wire::WatchTasksRequest now;
  now.set_version_number(-1);
  all.start<wire::WatchTasksRequest, wire::WatchTasksResponse>(
      0, &wire::CoordinationService::Stub::AsyncWatchTasks, now,
      [&](grpc::Status const& s, wire::WatchTasksResponse const& r) {
        if (!s.ok()) throw std::runtime_error("watch: " + s.error_message());
        version = r.version_number();
      });
  all.run([&] { return version != -2; }, 20s);
  return version;
}

// All tasks watch, and one leaves.
void watch_storm(agents& all, coordination_target& target, boost::json::object& row) {
  int told = 0;
  std::size_t bytes = 0;
  auto const version = watch_version(all);
  for (int i = 0; i < all.count(); ++i)
    all.watch(i, version, [&](std::size_t size) {
      ++told;
      bytes = size;
    });
  all.run_for(std::chrono::milliseconds(100 + all.count() / 5));
  auto const cpu = target.cpu_time();
  auto const begin = clock::now();
  wire::ShutdownTaskRequest leave;
  leave.set_source_task_id(all.count() - 1);
  all.start<wire::ShutdownTaskRequest, wire::ShutdownTaskResponse>(
      all.count() - 1, &wire::CoordinationService::Stub::AsyncShutdownTask, leave, {});
  all.run([&] { return told == all.count(); }, 60s);
  row["watch_storm_ms"] = milliseconds(clock::now() - begin);
  row["watch_reply_bytes"] = bytes;
  if (target.measured()) row["watch_storm_server_cpu_ms"] = milliseconds(target.cpu_time() - cpu);
}

}  // namespace

void barrier(options const& o, report& r) {
  for (int const n : o.agents.empty() ? std::vector<int>{64, 256, 1000} : o.agents) {
    coordination_target target(o, n);
    agents all(target.address(), n);
    auto const begin = clock::now();
    all.register_all();
    boost::json::object row{
        {"bench", "barrier"}, {"agents", n}, {"register_ms", milliseconds(clock::now() - begin)}};
    auto const cpu = target.cpu_time();
    auto const passed = pass_barriers(all, target, o.rounds);
    row["last_arrival_to_last_release_ms"] = quantile_of(passed.last_to_last, 0.5);
    row["last_arrival_to_last_release_p99_ms"] = quantile_of(passed.last_to_last, 0.99);
    row["whole_round_ms"] = quantile_of(passed.whole, 0.5);
    if (target.measured()) {
      row["server_cpu_us_per_call"] =
          static_cast<double>((target.cpu_time() - cpu).count()) / (2.0 * o.rounds * n);
      row["release_server_cpu_us_per_agent"] =
          static_cast<double>(passed.server_cpu.count()) / (1.0 * o.rounds * n);
    }
    row["release_client_cpu_us_per_agent"] =
        static_cast<double>(passed.client_cpu.count()) / (1.0 * o.rounds * n);
    watch_storm(all, target, row);
    r.add(std::move(row));
  }
}

}  // namespace muster::bench
