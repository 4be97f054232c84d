// What a running function can learn about the closure it runs, and how it learns that nobody waits
// for the result any more. Made by the library, valid during the call, used by the thread that runs
// the function.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <utility>

namespace muster {

/// The place of this worker in the cluster, as the server granted it.
struct worker_identity {
  std::string job;
  std::uint32_t index = 0;
  std::uint32_t slots = 0;
  std::uint32_t credits = 0;
  std::uint64_t incarnation = 0;
  std::string server;  // "host:port"
  std::string server_version;
};

class context {
 public:
  context(worker_identity const& worker, std::uint64_t closure, std::uint32_t attempt,
          std::stop_token stop)
      : worker_(&worker), closure_(closure), attempt_(attempt), stop_(std::move(stop)) {}

  std::uint64_t closure() const noexcept { return closure_; }
  /// 1 for the first attempt; a closure that lost its worker is tried again.
  std::uint32_t attempt() const noexcept { return attempt_; }

  worker_identity const& worker() const noexcept { return *worker_; }
  std::string const& job() const noexcept { return worker_->job; }
  std::uint32_t index() const noexcept { return worker_->index; }
  std::string const& server_version() const noexcept { return worker_->server_version; }

  /// The closure was cancelled, or the server was lost and the result is void. A long function
  /// looks at this now and then, or waits with the token, and returns or throws anything.
  bool cancelled() const noexcept { return stop_.stop_requested(); }
  /// Never requests a stop in a quick function.
  std::stop_token const& stop_token() const noexcept { return stop_; }

 private:
  worker_identity const* worker_;
  std::uint64_t closure_;
  std::uint32_t attempt_;
  std::stop_token stop_;
};

}  // namespace muster
