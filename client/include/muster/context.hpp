// What a running function can learn about the closure it runs, and how it learns that nobody waits
// for the result any more. Made by the library, valid during the call, used by the thread that runs
// the function.
#pragma once

#include <any>
#include <cstdint>
#include <functional>
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

/// What the library hands to a function that has to do with PerWorkerValues; see per_worker.hpp.
struct per_worker_link {
  std::function<std::any(std::uint64_t handle)> find;  // a kept object, or nothing
  std::any* keep = nullptr;                            // of a builder: where its object goes
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

  /// Connected workers when this closure was sent; with index() what sharding needs.
  std::uint32_t num_workers() const noexcept { return workers_; }
  /// Null when the closure has nothing to do with PerWorkerValues. For the library.
  per_worker_link const* per_worker() const noexcept { return link_; }
  void surround(std::uint32_t workers, per_worker_link const* link) {
    workers_ = workers;
    link_ = link;
  }

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
  std::uint32_t workers_ = 0;
  per_worker_link const* link_ = nullptr;
};

}  // namespace muster
