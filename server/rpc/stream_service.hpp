// Services with streams: muster.v1.WorkerService (a worker_connection per call),
// muster.v1.CoordinatorService (a session_stream per call; unary methods: coordinator_calls) and
// muster.v1.BlobService (a blob_put or blob_get per call). Owned by the composition root and
// destroyed before the grpc_server. Used only on the engine thread.
#pragma once

#include <grpcpp/server_context.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "coro/grpc_server.hpp"
#include "coro/task.hpp"
#include "server/hub/pools.hpp"

namespace muster::server {

class blob_store;
class gate;

struct stream_options {
  /// Time limit for the first message. Afterwards, the stream ends with DEADLINE_EXCEEDED.
  std::chrono::milliseconds first_message_timeout{10'000};
  /// Time for the client to receive the final status. The call is cancelled afterwards.
  std::chrono::milliseconds finish_grace{5'000};
  /// Maximum number of streams. At the limit, calls fail with RESOURCE_EXHAUSTED.
  std::size_t streams_max = 20'000;
  /// Returns the number sent to workers in `welcome` and to clients in `opened`. Called once the
  /// server runs.
  std::function<std::uint64_t()> server_incarnation = [] { return std::uint64_t{0}; };
  std::string server_version;
  /// Returns the cluster of a port, for calls that specify no cluster. Without a function, these
  /// calls use the main cluster.
  std::function<muster::result<core::coordination::cluster_id>(grpc::ServerContext const&)>
      cluster_of_port = {};
  /// Blobs that arguments and values refer to. Null if blobs are disabled.
  blob_store* blobs = nullptr;
  /// Authenticates callers. Null disables authentication.
  server::gate const* gate = nullptr;
  /// Name of the main cluster in tokens, in addition to `default`.
  std::string main_cluster = "default";
};

class stream_service {
 public:
  stream_service() = default;
  stream_service(stream_service const&) = delete;
  /// REQUIRES: no streams exist, because stop() or the server's stop() has completed.
  virtual ~stream_service() = default;

  /// Ends all streams with UNAVAILABLE and refuses new streams. Closes sessions and requeues the
  /// workers' closures. Completes when all streams have ended, at most after `finish_grace`. Call
  /// it once, before the server's stop(). Cannot fail or be cancelled.
  [[nodiscard]] virtual coro::task<void> stop() = 0;
};

// Each serve function adds a service to `server`. REQUIRES: server.start() has not been called;
// `all` and `server` outlive the service.
std::unique_ptr<stream_service> serve_workers(pools& all, coro::grpc_server& server,
                                              stream_options options = {});
std::unique_ptr<stream_service> serve_sessions(pools& all, coro::grpc_server& server,
                                               stream_options options = {});
/// `who` authenticates callers; null disables authentication. REQUIRES: `store` and `who` outlive
/// the service.
std::unique_ptr<stream_service> serve_blobs(blob_store& store, coro::grpc_server& server,
                                            gate const* who = nullptr);
/// Serves grpc.reflection.v1 and v1alpha.ServerReflection. Tools such as grpcurl use them to list
/// and call the `services` of this port. Uses the server's own queue, because gRPC 1.51's
/// implementation has its own threads. At most `streams_max` calls per version are served; further
/// calls fail with RESOURCE_EXHAUSTED.
std::unique_ptr<stream_service> serve_reflection(coro::grpc_server& server,
                                                 std::vector<std::string> services,
                                                 std::size_t streams_max = 100);

}  // namespace muster::server
