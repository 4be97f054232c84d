// An RPC of the coordination service as a table row: its name, and functions that convert between
// its bytes and core requests and replies.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <span>
#include <string>

#include "server/core/coordination/clusters.hpp"
#include "server/rpc/coordination/encoding_cache.hpp"
#include "server/rpc/coordination/fault_status.hpp"

namespace muster::server {

class coordination_call;

/// How a caller in TensorFlow's protocol identifies tasks: by job and index, or by a number across
/// the whole cluster, like JAX. Answers use the caller's form. XLA's protocol always uses numbers
/// across the cluster.
enum class task_naming : std::uint8_t {
  by_job,
  counted,      // by number, with an empty job name
  counted_jax,  // by number, with the job name "jax_worker"
};

struct answer_style {
  static constexpr std::uint32_t all_jobs = ~std::uint32_t{0};
  task_naming naming = task_naming::by_job;
  std::uint32_t job = all_jobs;  ///< index into cluster_spec::jobs
};

struct answer_scope {
  /// Null if the cluster was removed.
  core::coordination::cluster_spec const* spec = nullptr;
  answer_style style;
  encoding_cache<grpc::ByteBuffer>* encoded = nullptr;
};

struct coordination_method {
  std::string path;   ///< "/package.Service/Method"
  bool parks;         ///< can wait, so the caller's disconnect matters
  std::size_t slots;  ///< calls that can arrive in one engine turn without delay
  /// Parses the bytes and sends the request to the core on behalf of `call`. Returns false if the
  /// bytes are malformed.
  bool (*ask)(coordination_call& call, grpc::ByteBuffer& bytes);
  /// Encodes a reply without a fault. Returns false if the reply is too large for gRPC.
  bool (*encode)(answer_scope const& scope, core::coordination::reply& r, grpc::ByteBuffer& out);
};

// These encoders write bytes without a message object, because these answers are frequent. All
// readers share large values without copies. Engine thread.

bool encode_nothing(answer_scope const&, core::coordination::reply&, grpc::ByteBuffer& out);
/// Heartbeat: {fixed64 incarnation = 1}.
bool encode_incarnation(answer_scope const&, core::coordination::reply& r, grpc::ByteBuffer& out);
/// RegisterTask: {fixed64 incarnation = 1, uint64 heartbeat_timeout_ms = 100}. Only Muster's agents
/// read the second field.
bool encode_registration(answer_scope const& scope, core::coordination::reply& r,
                         grpc::ByteBuffer& out);
/// Barrier: {int64 counter = 1}.
bool encode_counter(answer_scope const&, core::coordination::reply& r, grpc::ByteBuffer& out);
/// GetKeyValue, TryGetKeyValue, IncrementKeyValue: {KeyValueEntry{key = 1, value = 2} = 1}.
bool encode_key_value(answer_scope const&, core::coordination::reply& r, grpc::ByteBuffer& out);
/// GetKeyValueDir: {repeated KeyValueEntry = 2}.
bool encode_key_values(answer_scope const&, core::coordination::reply& r, grpc::ByteBuffer& out);

std::span<coordination_method const> methods_of_xla();
std::span<coordination_method const> methods_of_tensorflow();

}  // namespace muster::server
