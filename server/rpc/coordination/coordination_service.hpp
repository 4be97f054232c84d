// The coordination service as unmodified JAX and TensorFlow speak it: both of its gRPC names, every
// method, over the coordination hub. Owned by the composition root, below the grpc_server; engine
// thread only. Ending it: hub.stop() answers every parked call, then comes the server's stop().
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "coro/grpc_server.hpp"
#include "server/hub/coordination_hub.hpp"
#include "server/rpc/coordination/agent_connections.hpp"
#include "server/rpc/coordination/cluster_ports.hpp"

namespace muster::server {

struct agent_admission {
  muster::status status{};  // UNAUTHENTICATED, PERMISSION_DENIED
  std::string token{};      // the id of what it was admitted by; empty: nothing that can end
};

struct coordination_service_options {
  /// Calls at one time, parked ones for the most part; about 10 KB each. More: RESOURCE_EXHAUSTED.
  std::size_t calls_max = 300'000;
  /// Whether a call of this cluster may come in; `again`: whether it still might, of which nothing
  /// is noted.
  std::function<agent_admission(grpc::ServerContext const&,
                                core::coordination::cluster_spec const& cluster, bool again)>
      admit = [](auto const&, auto const&, bool) { return agent_admission(); };
};

class coordination_service {
 public:
  static constexpr auto name_xla = "xla.coordination.CoordinationService";
  static constexpr auto name_tensorflow = "tensorflow.CoordinationService";

  coordination_service() = default;
  coordination_service(coordination_service const&) = delete;
  /// REQUIRES: no call is left: the server's stop() has completed.
  virtual ~coordination_service() = default;

  /// This token has been revoked, has expired or is another's now: calls that wait, and were
  /// admitted by it, are judged again.
  virtual void judge_calls_of(std::string const& token) = 0;

  /// Calls that arrived and have not ended.
  virtual std::size_t calls() const = 0;
};

/// Adds itself to `server`. REQUIRES: before server.start(); all of them outlive it.
std::unique_ptr<coordination_service> serve_coordination(coordination_hub& hub,
                                                         cluster_ports& ports,
                                                         agent_connections& connections,
                                                         coro::grpc_server& server,
                                                         coordination_service_options options = {});

}  // namespace muster::server
