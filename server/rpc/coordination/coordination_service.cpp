#include "server/rpc/coordination/coordination_service.hpp"

#include <algorithm>
#include <thread>

#include "server/rpc/coordination/call.hpp"

namespace muster::server {
namespace {

class slots final : public coro::acceptor_base {
 public:
  slots(coordination_calls& calls, raw_service& service) : calls_(calls), service_(service) {}
  void post_slots() override {
    for (std::size_t m = 0; m < service_.methods().size(); ++m)
      for (std::size_t n = 0; n < service_.methods()[m].slots; ++n)
        coordination_call::request(calls_, service_, m);
  }

 private:
  coordination_calls& calls_;
  raw_service& service_;
};

// A write spends most of its time in the kernel, which scales with the number of cores.
unsigned writing_threads() {
  return std::clamp(std::thread::hardware_concurrency(), 1u, 4u);
}

class both_dialects final : public coordination_service {
 public:
  both_dialects(coordination_hub& hub, cluster_ports& ports, agent_connections& connections,
                coro::grpc_server& server, coordination_service_options o)
      : calls_{hub,
               ports,
               connections,
               server,
               answer_writers(server.engine(), writing_threads() - 1),
               std::move(o)} {
    for (auto* service : {&xla_, &tensorflow_}) {
      server.add_service(*service);
      server.add_acceptor(std::make_unique<slots>(calls_, *service));
    }
  }
  ~both_dialects() override { check(calls_.live == 0, "all coordination calls must have ended"); }

  void judge_calls_of(std::string const& token) override {
    auto const place = calls_.by_token.extract(token);
    if (!place) return;
    // A refusal can end other calls, which then remove themselves.
    auto& waiting = place.mapped();
    while (!waiting.empty()) (*waiting.begin())->recheck();
  }

  std::size_t calls() const override { return calls_.live; }

 private:
  coordination_calls calls_;
  raw_service xla_{dialect::xla};
  raw_service tensorflow_{dialect::tensorflow};
};

}  // namespace

std::unique_ptr<coordination_service> serve_coordination(coordination_hub& hub,
                                                         cluster_ports& ports,
                                                         agent_connections& connections,
                                                         coro::grpc_server& server,
                                                         coordination_service_options options) {
  return std::make_unique<both_dialects>(hub, ports, connections, server, std::move(options));
}

}  // namespace muster::server
