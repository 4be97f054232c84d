// Limits and times of the streams of a service, and what they are told of the server. Plain data.
#pragma once

#include <grpcpp/server_context.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/status.hpp"
#include "server/core/coordination/api/effects.hpp"

namespace muster::server {

class blob_store;
class gate;

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

}  // namespace muster::server
