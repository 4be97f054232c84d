// What is the server's cost of N tasks with a heartbeat every five seconds?
#include "bench/agents.hpp"
#include "bench/coordination.hpp"

namespace muster::bench {

namespace {
constexpr auto period = std::chrono::seconds(5);
}

void heartbeats(options const& o, report& r) {
  using clock = agents::clock;
  auto const n = o.agents.empty() ? 10'000 : o.agents.front();
  coordination_target target(o, n);
  agents all(target.address(), n);
  all.register_all();
  auto const seconds = o.seconds;
  int sent = 0, refused = 0;
  auto const cpu = target.cpu_time();
  auto const begin = clock::now();
  auto const total = static_cast<int>(seconds / 5.0 * n);
  while (sent < total) {
    auto const due = static_cast<int>((clock::now() - begin) * n / period);
    for (; sent < std::min(due, total); ++sent) {
      wire::HeartbeatRequest request;
      request.set_source_task_id(sent % n);
      request.set_incarnation(all.incarnation(sent % n));
      all.start<wire::HeartbeatRequest, wire::HeartbeatResponse>(
          sent % n, &wire::CoordinationService::Stub::AsyncHeartbeat, request,
          [&](grpc::Status const& s, auto const&) { refused += !s.ok(); });
    }
    all.run_for(std::chrono::milliseconds(5));
  }
  all.run([&] { return all.in_flight() == 0; }, std::chrono::seconds(20));
  auto const took = std::chrono::duration<double>(clock::now() - begin).count();
  boost::json::object row{{"bench", "heartbeats"},
                          {"agents", n},
                          {"heartbeats_per_second", sent / took},
                          {"refused", refused}};
  if (target.measured()) {
    auto const used = std::chrono::duration<double>(target.cpu_time() - cpu).count();
    row["server_cpu_percent_of_a_core"] = 100 * used / took;
    row["server_cpu_us_per_call"] = 1e6 * used / sent;
  }
  r.add(std::move(row));
}

}  // namespace muster::bench
