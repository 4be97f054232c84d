// The coordination service for unmodified JAX and TensorFlow. Serves all methods under both gRPC
// service names with the coordination hub. Owned by the composition root and destroyed before the
// grpc_server. Used only on the engine thread. To stop the service, first call hub.stop(), which
// answers all waiting calls, then the server's stop().
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
  muster::status status{};
  std::string token{};  // token ID; empty if admitted without a token
};

struct coordination_service_options {
  /// Maximum number of open calls. Most calls are waiting; each uses about 10 KB. At the limit,
  /// calls fail with RESOURCE_EXHAUSTED.
  std::size_t calls_max = 300'000;
  /// Returns whether a call to this cluster is admitted. If `again` is set, the call was admitted
  /// earlier and a refusal is not counted.
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
  /// REQUIRES: no calls exist, because the server's stop() has completed.
  virtual ~coordination_service() = default;

  /// Checks again all waiting calls that were admitted with this token. Must be called after the
  /// token was revoked or rotated, or has expired.
  virtual void judge_calls_of(std::string const& token) = 0;

  virtual std::size_t calls() const = 0;
};

/// REQUIRES: server.start() has not been called; all arguments outlive the service.
std::unique_ptr<coordination_service> serve_coordination(coordination_hub& hub,
                                                         cluster_ports& ports,
                                                         agent_connections& connections,
                                                         coro::grpc_server& server,
                                                         coordination_service_options options = {});

}  // namespace muster::server
