// The services that are streams: muster.v1.WorkerService (one worker_connection each),
// muster.v1.CoordinatorService, for those who schedule closures by stream (one session_stream each)
// or by call (coordinator_calls), and muster.v1.BlobService (a blob_put or blob_get each). A
// service keeps the list of its streams and ends them. Owned by the composition root, below the
// grpc_server; engine thread only.
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

/// Limits and times of the streams of a service, and what they are told of the server.
struct stream_options {
  /// From the stream's start to its first message; then it ends with DEADLINE_EXCEEDED.
  std::chrono::milliseconds first_message_timeout{10'000};
  /// A stream that was told its end and does not take it is cut after this.
  std::chrono::milliseconds finish_grace{5'000};
  /// Streams at one time. More: RESOURCE_EXHAUSTED.
  std::size_t streams_max = 20'000;
  /// Told to workers in welcome and to clients in opened; asked for once the server runs.
  std::function<std::uint64_t()> server_incarnation = [] { return std::uint64_t{0}; };
  std::string server_version;
  /// Whose closures a call is about that names no cluster: those of the port that it came over.
  /// Empty: of the main one.
  std::function<muster::result<core::coordination::cluster_id>(grpc::ServerContext const&)>
      cluster_of_port = {};
  /// Of what arguments and values name. Null: there are none.
  blob_store* blobs = nullptr;
  /// Knows who calls. Null: nobody is asked.
  server::gate const* gate = nullptr;
  /// The name that tokens have for the main cluster, besides `default`.
  std::string main_cluster = "default";
};

class stream_service {
 public:
  stream_service() = default;
  stream_service(stream_service const&) = delete;
  /// REQUIRES: no stream is left: stop() or the server's stop() has completed.
  virtual ~stream_service() = default;

  /// Ends every stream with UNAVAILABLE and refuses new ones; sessions are closed, and what workers
  /// hold goes back to the queue. Completes when all are gone, after `finish_grace` at most. Comes
  /// before the server's stop(). Errors and cancellation: none. Once only.
  [[nodiscard]] virtual coro::task<void> stop() = 0;
};

// They add themselves to `server`. REQUIRES: before server.start(); pools and server outlive
// the service.
std::unique_ptr<stream_service> serve_workers(pools& all, coro::grpc_server& server,
                                              stream_options options = {});
std::unique_ptr<stream_service> serve_sessions(pools& all, coro::grpc_server& server,
                                               stream_options options = {});
/// muster.v1.BlobService. `who`: knows who calls; null: nobody is asked. REQUIRES: these as well
/// outlive it.
std::unique_ptr<stream_service> serve_blobs(blob_store& store, coro::grpc_server& server,
                                            gate const* who = nullptr);
/// grpc.reflection.v1 and v1alpha.ServerReflection: which services this port has (these and its own
/// two), and their descriptors, so that tools such as grpcurl can list and call them. Over this
/// server's own queue, as the one bundled with gRPC 1.51 (not tried with a newer one) would bring
/// threads of its own. At most `streams_max` of each version at one time. More: RESOURCE_EXHAUSTED.
std::unique_ptr<stream_service> serve_reflection(coro::grpc_server& server,
                                                 std::vector<std::string> services,
                                                 std::size_t streams_max = 100);

}  // namespace muster::server
