// One task of a cluster: publishes its address, waits for the other tasks at a barrier, and shares
// a counter with them:  agent TASK [HOST:PORT]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <muster/coordination_agent.hpp>
#include <string>

using namespace std::chrono_literals;

int main(int argc, char** argv) try {
  muster::coordination_options options;
  options.task = argc > 1 ? static_cast<std::uint32_t>(std::atoi(argv[1])) : 0;
  options.server = argc > 2 ? argv[2] : "127.0.0.1:8476";
  options.heartbeat_timeout = 2s;  // sends a heartbeat every second
  options.on_error = [](muster::agent_error const& e) {
    std::fprintf(stderr, "the run has failed: %s\n", e.what());
  };
  muster::coordination_agent agent(options);
  agent.connect();  // waits for the server and the other tasks

  auto const own = std::to_string(options.task);
  agent.set("address/" + own, "10.0.0." + own + ":4711");
  agent.barrier("addresses are known", 60s);
  for (auto const& [key, value] : agent.list("address"))
    std::printf("%s is %s\n", key.c_str(), value.c_str());

  auto const sum = agent.increment("steps", 100);
  std::printf("%lld steps so far\n", static_cast<long long>(sum));
  agent.barrier("done", 60s);
  agent.shutdown();
} catch (muster::agent_error const&) {
  return 2;  // on_error has printed the reason
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
