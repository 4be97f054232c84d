// The calls of BlobService, each once, waiting. Any thread.
#pragma once

#include <grpcpp/client_context.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "muster/blobs.hpp"
#include "muster/v1/blobs.grpc.pb.h"

namespace muster::detail {

/// 32 bytes.
std::string sha256_of(std::string_view bytes);
std::string hex_of(std::string_view bytes);

/// One attempt at one server.
class blob_calls {
 public:
  explicit blob_calls(blobs_options const& o);

  grpc::Status put(grpc::ClientContext& context, std::string_view hash, std::string_view bytes);
  grpc::Status get(grpc::ClientContext& context, std::string_view hash, std::string& into);
  /// `there` is as long as `hashes`, of which there are asked_max at most.
  grpc::Status has(grpc::ClientContext& context, std::vector<std::string> const& hashes,
                   std::vector<bool>& there);
  static constexpr std::size_t asked_max = 1'000;

  std::string const& server() const { return server_; }

 private:
  std::string const server_;
  std::unique_ptr<v1::BlobService::Stub> const stub_;
};

}  // namespace muster::detail
