// Answers calls of methods that nobody serves, and counts each like one that was reset. gRPC would
// answer by itself, but then they would be counted nowhere and be free. Belongs to the grpc_server;
// engine thread, or before that runs.
#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server_builder.h>

#include <memory>
#include <vector>

#include "coro/grpc_server.hpp"

namespace muster::coro {

class unknown_calls final : public acceptor_base {
 public:
  /// REQUIRES: `builder` is the server's, which has not started; both outlive this.
  unknown_calls(grpc_server& server, grpc::ServerBuilder& builder);
  ~unknown_calls() override;
  void post_slots() override;

 private:
  struct slot;
  /// Answers that gRPC has at one time; further calls wait in its own queue.
  static constexpr std::size_t slots = 64;

  grpc_server& server_;
  grpc::AsyncGenericService service_;
  std::vector<std::unique_ptr<slot>> slots_;
};

}  // namespace muster::coro
