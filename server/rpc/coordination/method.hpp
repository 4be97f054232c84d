// One RPC of the coordination service, as a row of a table: what it is called, how its bytes become
// a question to the core, and how the core's reply becomes bytes. The rows of the two dialects are
// in dialect_xla.cpp and dialect_tensorflow.cpp.
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

/// How a caller in TensorFlow's dialect names tasks, and so how it wants to read them: counted
/// through the whole cluster, as JAX does, or by job. XLA's always counts through.
enum class task_naming : std::uint8_t {
  by_job,
  counted,      // with an empty job name
  counted_jax,  // with "jax_worker"
};

/// What the call remembers of the question for the sake of its answer.
struct answer_style {
  static constexpr std::uint32_t all_jobs = ~std::uint32_t{0};
  task_naming naming = task_naming::by_job;
  std::uint32_t job = all_jobs;  ///< position in cluster_spec::jobs
};

struct answer_scope {
  /// Null when the cluster was removed meanwhile.
  core::coordination::cluster_spec const* spec = nullptr;
  answer_style style;
  encoding_cache<grpc::ByteBuffer>* encoded = nullptr;
};

struct coordination_method {
  std::string path;   ///< "/package.Service/Method"
  bool parks;         ///< may wait, so a caller that vanishes matters
  std::size_t slots;  ///< calls that can arrive between two turns of the engine without waiting
  /// Parses and asks the core on behalf of `call`. False: the bytes are no such message.
  bool (*ask)(coordination_call& call, grpc::ByteBuffer& bytes);
  /// Encodes a reply that is no fault. False: it is larger than gRPC can send.
  bool (*encode)(answer_scope const& scope, core::coordination::reply& r, grpc::ByteBuffer& out);
};

// Answers that have the same bytes in both dialects, written without a message in between: they are
// the hot ones, and a large value goes to all its readers without being copied. Engine thread.

/// Every answer without content.
bool encode_nothing(answer_scope const&, core::coordination::reply&, grpc::ByteBuffer& out);
/// Heartbeat: {fixed64 incarnation = 1}.
bool encode_incarnation(answer_scope const&, core::coordination::reply& r, grpc::ByteBuffer& out);
/// RegisterTask: {fixed64 incarnation = 1, uint64 heartbeat_timeout_ms = 100}. Only agents of
/// Muster know the second field; others skip it.
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
