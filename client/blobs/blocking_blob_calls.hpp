// Makes blocking calls of BlobService. Thread-safe.
#pragma once

#include <grpcpp/client_context.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "muster/blobs.hpp"
#include "muster/v1/blobs.grpc.pb.h"

namespace muster::detail {

using blob_stub = v1::BlobService::Stub;

std::string raw_sha256_of(std::string_view bytes);
bool is_transient(grpc::StatusCode c);

/// Uploads a blob. `name` and `holder` are set for a value that a process holds (see PutBlob). Any
/// other blob is stored under its hash.
grpc::Status call_put(blob_stub& to, grpc::ClientContext& context, std::string_view hash,
                      std::string_view bytes, std::string_view name = {}, std::uint64_t holder = 0);
grpc::Status call_get(blob_stub& from, grpc::ClientContext& context, std::string_view name,
                      std::string& into);
/// Asks which blobs the server has, and sets one entry of `there` for each hash. `hashes` must have
/// at most asked_max entries.
grpc::Status call_has(blob_stub& of, grpc::ClientContext& context,
                      std::vector<std::string> const& hashes, std::vector<bool>& there);
inline constexpr std::size_t asked_max = 1'000;
/// Returns where the value can be fetched, with tickets for hosts other than `host`.
grpc::Status call_locate(blob_stub& of, grpc::ClientContext& context, std::string const& name,
                         std::string const& host, v1::BlobPlace& into);

class blob_caller {
 public:
  using clock = std::chrono::steady_clock;
  using call = std::function<grpc::Status(blob_stub&, grpc::ClientContext&)>;

  explicit blob_caller(blobs_options const& o) : options_(o) {}
  blob_caller(blob_caller const&) = delete;

  /// Makes one call, which cancel() can abort.
  grpc::Status once(call const& c, clock::duration limit);
  /// Repeats the call until it succeeds or blobs_options::patience has elapsed. Throws blob_error,
  /// whose message begins with `what`.
  void try_until(call const& c, clock::duration limit, std::string const& what);
  /// Cancels all current and later calls.
  void cancel();

 private:
  struct dialled {
    explicit dialled(blobs_options const& o);

    std::string const server;
    std::unique_ptr<blob_stub> const calls;
  };

  blobs_options const& options_;
  std::mutex mutex_;  // protects the following members
  std::condition_variable changed_;
  bool ended_ = false;
  std::set<grpc::ClientContext*> calls_;  // calls in progress, at most one per thread
  std::shared_ptr<dialled const> dialled_;
};

}  // namespace muster::detail
