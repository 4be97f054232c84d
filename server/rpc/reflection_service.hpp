// grpc.reflection.v1 and v1alpha.ServerReflection: which services this port has, and their
// descriptors, so that tools such as grpcurl can list and call them. Over this server's own queue,
// as gRPC's bundled one would bring threads of its own. Owned by the composition root, below the
// grpc_server; engine thread only.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "coro/grpc_server.hpp"
#include "coro/task.hpp"

namespace muster::server {

struct reflection_service_options {
  /// Told besides the reflection services themselves.
  std::vector<std::string> services;
  /// Streams at one time, of each version. More: RESOURCE_EXHAUSTED.
  std::size_t calls_max = 100;
};

class reflection_service {
 public:
  /// Adds itself to `server`. REQUIRES: before server.start().
  reflection_service(coro::grpc_server& server, reflection_service_options options);
  /// REQUIRES: no call is left.
  ~reflection_service();
  reflection_service(reflection_service const&) = delete;

  /// Ends every stream with UNAVAILABLE. Completes when all are gone. Comes before the server's
  /// stop(). Errors and cancellation: none. Once only.
  [[nodiscard]] coro::task<void> stop();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace muster::server
