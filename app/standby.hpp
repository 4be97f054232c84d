// State of the process before it serves, and whether it may answer. Determines how HTTP answers
// until then. With `--store`, waits for leadership. Owned by the app; outlives its users.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "app/configuration.hpp"
#include "server/hub/coordination_hub.hpp"
#include "server/journal/etcd/leadership.hpp"
#include "server/journal/store.hpp"
#include "server/net/service_manager.hpp"
#include "web/server/server.hpp"

namespace muster::server {

/// Exit status after the lease has expired. The process ends immediately, because another server
/// can be the leader.
constexpr int exit_lease_lost = 4;

class standby {
 public:
  /// @pre `c` outlives this object.
  explicit standby(configuration const& c) : configuration_(c) {}

  // The following functions are thread-safe.
  /// Returns the answer to requests while the server does not serve, or nullopt.
  std::optional<web::not_serving> waiting() const;
  /// Makes HTTP report that the server is reading `what`.
  void reading(std::string what);
  void serving();
  /// Ends the process if it may no longer answer; see leadership::check.
  void check() const {
    if (leadership_) leadership_->check();
  }
  void describe(store_view& v) const;

  // The following functions are called on the main thread.
  /// With `--store`, waits until this server is the leader. Returns false, and logs the signal's
  /// name, if a stop signal arrives first. If no etcd member has data as recent as the leadership,
  /// the server resigns and stands by.
  /// @param http HTTP address.
  /// @throws start_error if etcd refuses, or does not answer at startup
  bool wait_to_lead(std::string const& http, net::service_manager& manager);
  /// Returns the store in etcd, with data as recent as the leadership. Called once.
  /// @pre wait_to_lead returned true, with `--store`.
  std::unique_ptr<journal::store> take_store() { return std::move(store_); }
  /// Gives up leadership, so that the next server can take over immediately. No request is answered
  /// afterwards.
  void resign();

 private:
  void set(web::not_serving state);
  journal::etcd::access access() const;
  std::string address(std::string const& http) const;
  muster::status open_etcd(journal::etcd::leadership const& l);

  configuration const& configuration_;
  std::chrono::steady_clock::time_point const begun_ = std::chrono::steady_clock::now();
  std::unique_ptr<journal::etcd::leadership> leadership_;  // set before other threads start
  std::unique_ptr<journal::store> store_;                  // from wait_to_lead() until take_store()

  mutable std::mutex mutex_;
  std::optional<web::not_serving> state_ = web::not_serving{"the server is starting", {}};
  std::chrono::steady_clock::time_point state_since_ = begun_;
};

}  // namespace muster::server
