// An RPC of the coordination service as a table row: its name, and functions that convert its
// request and its reply.
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

/// How a caller in TensorFlow's protocol identifies tasks: by job and index, or, like JAX, by a
/// number that is unique in the cluster. Answers use the caller's form. XLA's protocol always uses
/// such numbers.
enum class task_naming : std::uint8_t {
  by_job,
  counted,      // task number, with an empty job name
  counted_jax,  // task number, with the job name "jax_worker"
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
  bool parks;         ///< whether the call can wait, so that a disconnect matters
  std::size_t slots;  ///< calls that can arrive in one engine turn without delay
  /// Parses the bytes and sends the request to the core on behalf of `call`. Returns false if the
  /// bytes are malformed.
  bool (*ask)(coordination_call& call, grpc::ByteBuffer& bytes);
  /// Encodes a successful reply. Returns false if the reply is too large for gRPC.
  bool (*encode)(answer_scope const& scope, core::coordination::reply& r, grpc::ByteBuffer& out);
};

// Encoders of frequent answers, which write bytes without a message object. All readers share a
// large value without copies. Used only on the engine thread.

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
