// Downloads one upload from the server's BlobService into a file. Any thread may call cancel().
#pragma once

#include <grpcpp/client_context.h>

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

#include "muster/tls_options.hpp"

namespace muster {

/// The server is unreachable or no longer has the upload. A request to another server, or a later
/// attempt, can succeed.
class upload_unavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class upload_fetch {
 public:
  /// @param server "host:port"
  upload_fetch(std::string server, tls_options tls, std::string token)
      : server_(std::move(server)), tls_(std::move(tls)), token_(std::move(token)) {}

  /// Downloads the upload. Retries transient errors for 30 seconds after the last progress.
  void run(std::string const& hash, std::filesystem::path const& to);
  /// Makes the current or the next run() fail.
  void cancel();
  bool cancelled();

 private:
  grpc::Status once(std::string const& hash, std::filesystem::path const& to, bool& came);

  std::string const server_;
  tls_options const tls_;
  std::string const token_;
  std::mutex mutex_;  // protects the following members
  std::condition_variable changed_;
  grpc::ClientContext* call_ = nullptr;
  bool cancelled_ = false;
};

}  // namespace muster
