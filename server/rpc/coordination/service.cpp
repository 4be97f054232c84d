// Registers the methods of both dialects' tables as raw methods.
#include "server/rpc/coordination/service.hpp"

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

// The kernel's part of a write is most of it, and that is done on each core by itself.
unsigned writing_threads() {
  return std::clamp(std::thread::hardware_concurrency(), 1u, 4u);
}

}  // namespace

struct coordination_service::state {
  state(coordination_hub& hub, cluster_ports& ports, agent_connections& connections,
        coro::grpc_server& server, coordination_service_options const& o)
      : calls(hub, ports, connections, server, o.calls_max, writing_threads(), o.admit) {
    for (auto* service : {&xla, &tensorflow}) {
      server.add_service(*service);
      server.add_acceptor(std::make_unique<slots>(calls, *service));
    }
  }

  coordination_calls calls;
  raw_service xla{dialect::xla};
  raw_service tensorflow{dialect::tensorflow};
};

coordination_service::coordination_service(coordination_hub& hub, cluster_ports& ports,
                                           agent_connections& connections,
                                           coro::grpc_server& server,
                                           coordination_service_options options)
    : state_(std::make_unique<state>(hub, ports, connections, server, options)) {}

coordination_service::~coordination_service() {
  check(state_->calls.live == 0, "every coordination call has ended");
}

void coordination_service::judge_calls_of(std::string const& token) {
  auto const place = state_->calls.by_token.extract(token);
  if (!place) return;
  // A refusal may end others, and these then leave their place.
  auto& waiting = place.mapped();
  while (!waiting.empty()) (*waiting.begin())->judge_again();
}

std::size_t coordination_service::calls() const {
  return state_->calls.live;
}

}  // namespace muster::server
