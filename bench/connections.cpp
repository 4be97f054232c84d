// What does a server's agent cost if it has a connection of its own?
//
// Each agent has one connection. All agents are in one process, which uses the same cores as the
// server; its CPU time is reported, too.
#include <sys/resource.h>
#include <unistd.h>

#include <stdexcept>
#include <thread>

#include "bench/agents.hpp"
#include "bench/coordination.hpp"
#include "bench/http2_connections.hpp"

namespace muster::bench {

namespace {

using namespace std::chrono_literals;
using clock = http2_connections::clock;

constexpr auto limit = 120s, opening_limit = 30s;
constexpr auto beat = 5s;
/// Descriptors of the benchmark in addition to its connections.
constexpr rlim_t other_descriptors = 64;

double elapsed_ms(clock::duration d) {
  return std::chrono::duration<double, std::milli>(d).count();
}

double kilobytes(std::size_t after, std::size_t before, int count) {
  return (static_cast<double>(after) - static_cast<double>(before)) / 1000 / count;
}

void raise_descriptor_limit(int count) {
  rlimit now{};
  getrlimit(RLIMIT_NOFILE, &now);
  now.rlim_cur = now.rlim_max;
  setrlimit(RLIMIT_NOFILE, &now);
  if (now.rlim_max < static_cast<rlim_t>(count) + other_descriptors)
    throw std::invalid_argument("--agents: " + std::to_string(count) +
                                " connections need a higher limit of descriptors (ulimit -n)");
}

class connected_agents {
 public:
  connected_agents(std::string const& server, int count) : connections(server, count) {}

  template <class Request>
  void call(int i, char const* name, Request request, http2_connections::handler done) {
    if constexpr (requires { request.mutable_incarnations(); }) {
      request.mutable_incarnations()->set_task_incarnation(incarnation(i));
      request.mutable_incarnations()->set_service_incarnation(service_);
    }
    connections.call(i, std::string("/xla.coordination.CoordinationService/") + name, request,
                     std::move(done));
  }

  void register_all() {
    int answered = 0;
    for (int i = 0; i < connections.count(); ++i) {
      wire::RegisterTaskRequest request;
      request.set_source_task_id(i);
      request.set_incarnation(incarnation(i));
      call(i, "RegisterTask", request, [&](bool ok, std::string_view response) {
        wire::RegisterTaskResponse r;
        if (!ok || !r.ParseFromArray(response.data(), static_cast<int>(response.size())))
          throw std::runtime_error("a registration failed");
        service_ = r.service_incarnation();
        ++answered;
      });
    }
    connections.run([&] { return answered == connections.count(); }, limit);
  }

  void heartbeat(int i, http2_connections::handler done) {
    wire::HeartbeatRequest request;
    request.set_source_task_id(i);
    request.set_incarnation(incarnation(i));
    call(i, "Heartbeat", request, std::move(done));
  }

  void enter(int i, std::string const& barrier, http2_connections::handler done) {
    wire::BarrierRequest request;
    request.set_barrier_id(barrier);
    request.set_barrier_timeout_in_ms(120'000);
    request.set_source_task_id(i);
    call(i, "Barrier", request, std::move(done));
  }

  http2_connections connections;

 private:
  static std::uint64_t incarnation(int i) { return 0x5eed'0000'0000u + static_cast<unsigned>(i); }
  std::uint64_t service_ = 0;
};

/// Time for which calls settle at the server before an event is measured.
auto settling(int count) {
  return 100ms + std::chrono::milliseconds(count / 10);
}

void send_heartbeats(connected_agents& all, coordination_target const& target, double seconds,
                     boost::json::object& row) {
  auto const n = all.connections.count();
  int sent = 0, answered = 0, refused = 0;
  auto const server = target.cpu_time(), client = cpu_time_of(getpid());
  auto const begin = clock::now();
  auto const total = static_cast<int>(seconds / 5 * n);
  while (sent < total) {
    auto const due = static_cast<int>((clock::now() - begin) * n / beat);
    for (; sent < std::min(due, total); ++sent)
      all.heartbeat(sent % n, [&](bool ok, std::string_view) { ++answered, refused += !ok; });
    all.connections.run_for(5ms);
  }
  all.connections.run([&] { return answered == sent; }, limit);
  if (refused > 0) throw std::runtime_error(std::to_string(refused) + " heartbeats failed");
  auto const took = std::chrono::duration<double>(clock::now() - begin).count();
  auto const percent = [took](std::chrono::microseconds used) {
    return 100 * std::chrono::duration<double>(used).count() / took;
  };
  if (target.measured()) row["heartbeats_server_percent"] = percent(target.cpu_time() - server);
  row["heartbeats_client_percent"] = percent(cpu_time_of(getpid()) - client);
}

void pass_barriers(connected_agents& all, int rounds, boost::json::object& row) {
  auto const n = all.connections.count();
  std::vector<double> samples;
  for (int round = 0; round < rounds; ++round) {
    auto const id = "bench_" + std::to_string(round);
    int released = 0;
    auto const enter = [&](int i) {
      all.enter(i, id, [&](bool ok, std::string_view) {
        if (!ok) throw std::runtime_error("a barrier failed");
        ++released;
      });
    };
    for (int i = 0; i + 1 < n; ++i) enter(i);
    all.connections.run_for(settling(n));
    auto const last = clock::now();
    enter(n - 1);
    all.connections.run([&] { return released == n; }, limit);
    samples.push_back(elapsed_ms(clock::now() - last));
  }
  row["barrier_p50_ms"] = quantile_of(samples, 0.5);
}

/// All agents wait for a key, which the first agent sets.
void watch_key(connected_agents& all, boost::json::object& row) {
  auto const n = all.connections.count();
  int answered = 0;
  for (int i = 1; i < n; ++i) {
    wire::GetKeyValueRequest request;
    request.set_key("bench/watched");
    all.call(i, "GetKeyValue", request, [&](bool ok, std::string_view) {
      if (!ok) throw std::runtime_error("a wait for a key failed");
      ++answered;
    });
  }
  all.connections.run_for(settling(n));
  auto const begin = clock::now();
  wire::InsertKeyValueRequest put;
  put.mutable_kv()->set_key("bench/watched");
  put.mutable_kv()->set_value("x");
  all.call(0, "InsertKeyValue", put, [](bool, std::string_view) {});
  all.connections.run([&] { return answered == n - 1; }, limit);
  row["key_to_all_ms"] = elapsed_ms(clock::now() - begin);
}

/// All agents poll for errors, and the first agent reports one.
void report_error(connected_agents& all, boost::json::object& row) {
  auto const n = all.connections.count();
  int told = 0;
  for (int i = 1; i < n; ++i) {
    wire::PollForErrorRequest request;
    request.set_source_task_id(i);
    all.call(i, "PollForError", request, [&](bool, std::string_view) { ++told; });
  }
  all.connections.run_for(settling(n));
  if (told > 0) throw std::runtime_error("a poll for errors ended early");
  auto const begin = clock::now();
  wire::ReportErrorToServiceRequest error;
  error.set_source_task_id(0);
  error.set_error_code(13);
  error.set_error_message("bench");
  all.call(0, "ReportErrorToService", error, [](bool, std::string_view) {});
  all.connections.run([&] { return told == n - 1; }, limit);
  row["error_to_all_ms"] = elapsed_ms(clock::now() - begin);
}

}  // namespace

void connections(options const& o, report& r) {
  for (int const n : o.agents.empty() ? std::vector<int>{100, 1'000, 4'000, 10'000} : o.agents) {
    raise_descriptor_limit(n);
    coordination_target target(o, n);
    auto const idle = target.resident_bytes();
    boost::json::object row{{"bench", "connections"}, {"agents", n}};
    {
      connected_agents all(target.address(), n);
      auto begin = clock::now();
      all.connections.open_all(opening_limit);
      row["connect_ms"] = elapsed_ms(clock::now() - begin);
      if (target.measured()) row["kb_per_connection"] = kilobytes(target.resident_bytes(), idle, n);
      begin = clock::now();
      all.register_all();
      row["register_ms"] = elapsed_ms(clock::now() - begin);
      if (target.measured()) row["kb_per_agent"] = kilobytes(target.resident_bytes(), idle, n);
      send_heartbeats(all, target, o.seconds, row);
      pass_barriers(all, o.rounds, row);
      watch_key(all, row);
      report_error(all, row);
      if (target.measured())
        row["kb_per_agent_at_end"] = kilobytes(target.resident_bytes(), idle, n);
    }
    if (target.measured()) {
      std::this_thread::sleep_for(2s);
      row["kb_per_agent_after_close"] = kilobytes(target.resident_bytes(), idle, n);
      row["idle_server_mb"] = static_cast<double>(idle) / 1e6;
    }
    r.add(std::move(row));
  }
}

}  // namespace muster::bench
