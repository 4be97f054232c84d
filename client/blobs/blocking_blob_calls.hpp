// The calls of BlobService, each of which waits for its end in the thread that makes it, and the
// tries of them. Any thread.
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
/// Another try may go better.
bool may_pass(grpc::StatusCode c);

/// `name` and `holder`: of what a process holds, see PutBlob; empty: it is kept under its hash.
grpc::Status call_put(blob_stub& to, grpc::ClientContext& context, std::string_view hash,
                      std::string_view bytes, std::string_view name = {}, std::uint64_t holder = 0);
grpc::Status call_get(blob_stub& from, grpc::ClientContext& context, std::string_view name,
                      std::string& into);
/// `there` is as long as `hashes`, of which there are asked_max at most.
grpc::Status call_has(blob_stub& of, grpc::ClientContext& context,
                      std::vector<std::string> const& hashes, std::vector<bool>& there);
inline constexpr std::size_t asked_max = 1'000;
/// With tickets for where it can be had from another host than `host`.
grpc::Status call_locate(blob_stub& of, grpc::ClientContext& context, std::string const& name,
                         std::string const& host, v1::BlobPlace& into);

/// Calls to the server that serves. Owned by blobs.
class blob_caller {
 public:
  using clock = std::chrono::steady_clock;
  using call = std::function<grpc::Status(blob_stub&, grpc::ClientContext&)>;

  explicit blob_caller(blobs_options const& o) : options_(o) {}
  blob_caller(blob_caller const&) = delete;

  /// A call with a deadline that cancel() can end.
  grpc::Status once(call const& c, clock::duration limit);
  /// The same until it succeeds, or `patience` is over. Errors: blob_error, which begins with
  /// `what`.
  void try_until(call const& c, clock::duration limit, std::string const& what);
  /// All calls, from now on.
  void cancel();

 private:
  /// One server, and the way to it.
  struct dialled {
    explicit dialled(blobs_options const& o);

    std::string const server;
    std::unique_ptr<blob_stub> const calls;
  };

  blobs_options const& options_;
  std::mutex mutex_;  // protects all below
  std::condition_variable changed_;
  bool over_ = false;
  std::set<grpc::ClientContext*> calls_;  // one a thread at most
  std::shared_ptr<dialled const> dialled_;
};

}  // namespace muster::detail
