// An upload from the server's BlobService into a file. One fetch; cancel() by any thread.
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

/// The server did not give it: it is away, or has it no more. Another one, or later, may.
class upload_not_given : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class upload_fetch {
 public:
  /// `server`: "host:port".
  upload_fetch(std::string server, tls_options tls, std::string token)
      : server_(std::move(server)), tls_(std::move(tls)), token_(std::move(token)) {}

  /// Tries again for half a minute what may pass. `hash`: 64 hexadecimal digits. Errors:
  /// upload_not_given, and std::runtime_error for what does not pass, in words; std::system_error,
  /// the file.
  void run(std::string const& hash, std::filesystem::path const& to);
  /// It ends with an error, now or when it begins.
  void cancel();
  bool cancelled();

 private:
  /// `came`: some of it.
  grpc::Status once(std::string const& hash, std::filesystem::path const& to, bool& came);

  std::string const server_;
  tls_options const tls_;
  std::string const token_;
  std::mutex mutex_;  // protects all below
  std::condition_variable changed_;
  grpc::ClientContext* call_ = nullptr;
  bool cancelled_ = false;
};

}  // namespace muster
