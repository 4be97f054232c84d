// A call of the coordination service, from its request slot until it is freed. It is not a
// coroutine, because thousands of calls wait at the same time. Owns itself; used only on the engine
// thread. States:
//
//   requested --call arrives--> asked --reply--> finishing --reply sent--> freed
//     |                            \--caller disconnects (if the method parks)--> freed
//     \--server stops--> freed
#pragma once

#include <grpcpp/impl/call.h>
#include <grpcpp/impl/call_op_set.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/server_context.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "coro/grpc_server.hpp"
#include "coro/rpc_tag.hpp"
#include "server/hub/coordination_hub.hpp"
#include "server/rpc/coordination/answer_writers.hpp"
#include "server/rpc/coordination/coordination_service.hpp"
#include "server/rpc/coordination/method.hpp"

namespace muster::server {

class agent_connections;
class cluster_ports;
class coordination_call;

/// A gRPC service whose methods, defined by a table, read and write raw bytes.
class raw_service final : public grpc::Service {
 public:
  explicit raw_service(dialect d);
  dialect spoken() const { return dialect_; }
  std::span<coordination_method const> methods() const { return methods_; }
  void request(std::size_t method, grpc::ServerContext& context, grpc::ByteBuffer& bytes,
               grpc::internal::ServerAsyncStreamingInterface& stream,
               grpc::ServerCompletionQueue& queue, coro::rpc_tag* tag) {
    RequestAsyncUnary(static_cast<int>(method), &context, &bytes, &stream, &queue, &queue, tag);
  }

 private:
  dialect const dialect_;
  std::span<coordination_method const> const methods_;
};

/// Owned by coordination_service.
struct coordination_calls {
  coordination_hub& hub;
  cluster_ports& ports;
  agent_connections& connections;
  coro::grpc_server& server;
  answer_writers writers;
  coordination_service_options const options;
  std::size_t live = 0;  // calls that have arrived and are not freed yet
  using calls_of_token = std::unordered_map<std::string, std::unordered_set<coordination_call*>>;
  calls_of_token by_token = {};
  encoding_cache<grpc::ByteBuffer> encoded = {};
  encoding_cache<grpc::Status> statuses = {};
};

class coordination_call final : private coro::rpc_tag,
                                private grpc::internal::ServerAsyncStreamingInterface {
 public:
  /// Creates a request slot for one call of the method. The next slot is created when the call
  /// arrives.
  static void request(coordination_calls& home, raw_service& service, std::size_t method);

  core::coordination::cluster_spec const& spec() const { return home_.hub.state().spec(cluster_); }
  core::coordination::task_ref task(std::string_view job, std::int64_t id) const;
  std::string peer() const;
  bool may_wait() const { return method().parks; }
  answer_style style;
  template <class Request>
  void ask(Request r) {
    if (method().parks) r.from.deadline = deadline();
    if constexpr (requires { r.task.index, r.incarnation; })
      note_connection(r.task.index, r.incarnation);
    // In XLA's protocol, every call identifies the calling process; in TensorFlow's protocol, only
    // its address identifies the process.
    if constexpr (requires { r.from.peer; })
      if (service_.spoken() == dialect::tensorflow) r.from.peer = peer();
    auto const id =
        home_.hub.ask(cluster_, std::move(r), [this](core::coordination::reply& a) { answer(a); });
    if (state_ == state::asked) core_call_ = id;
  }
  /// Checks again whether a waiting call is admitted. Ends a rejected call with the gate's status.
  void recheck();
  void refuse(muster::status const& why);

 private:
  enum class state : std::uint8_t { requested, asked, finishing, over };
  // Uses internal gRPC classes, because in gRPC 1.51 the public classes allocate a kilobyte for the
  // answer of every waiting call. After a gRPC upgrade, check that this class builds and that
  // coordination_wire_test passes.
  using answer_ops = grpc::internal::CallOpSet<grpc::internal::CallOpSendInitialMetadata,
                                               grpc::internal::CallOpSendMessage,
                                               grpc::internal::CallOpServerSendStatus>;

  coordination_call(coordination_calls& home, raw_service& service, std::size_t method);
  ~coordination_call();

  void complete(bool ok) override;
  void arrived();
  void answer(core::coordination::reply& r);
  void finish(grpc::Status const& status, grpc::ByteBuffer const* bytes);
  void gone(bool);
  void list(std::string const& token);
  void unlist();
  void free_if_done();
  void note_connection(core::coordination::task_index task, core::incarnation incarnation);
  coordination_method const& method() const { return service_.methods()[method_]; }
  core::time_point deadline() const;

  // Replaces gRPC's implementation, which allocates a kilobyte when the call starts.
  void SendInitialMetadata(void*) override {}
  void BindCall(grpc::internal::Call* call) override { call_ = *call; }

  coordination_calls& home_;
  raw_service& service_;
  std::uint16_t const method_;
  state state_ = state::requested;
  bool done_expected_ = false;
  core::coordination::cluster_id cluster_{};
  core::call_id core_call_{};
  coordination_calls::calls_of_token::value_type* listed_ = nullptr;
  coro::member_tag<coordination_call, &coordination_call::gone> done_tag_{*this};
  grpc::internal::Call call_{nullptr, nullptr, nullptr};
  grpc::ByteBuffer bytes_;
  std::unique_ptr<answer_ops> answer_;
  grpc::ServerContext context_;
};

}  // namespace muster::server
