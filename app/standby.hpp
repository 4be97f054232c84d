// From the start of the process until it serves, and whether it still may: what HTTP answers
// meanwhile, and with `--store` the wait for the right to lead. Owned by the app, outlives all that
// ask it.
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

/// The lease is over: another server may lead, so this one is gone at once.
constexpr int exit_lease_lost = 4;

class standby {
 public:
  /// REQUIRES: `c` outlives it.
  explicit standby(configuration const& c) : configuration_(c) {}

  // Any thread.
  /// What is answered to requests now; nothing: it serves.
  std::optional<web::not_serving> waiting() const;
  /// HTTP says that the server reads this, and does not serve yet.
  void reading(std::string what);
  /// From now on HTTP serves.
  void serving();
  /// Returns if the process may answer; see leadership::check.
  void check() const {
    if (leadership_) leadership_->check();
  }
  /// Completes what people are told of the store.
  void describe(store_view& v) const;

  // Main thread.
  /// With `--store`: until this server leads. `http`: where it listens. False: a stop signal, whose
  /// name is logged, came first. start_error: etcd refuses, or does not answer at the start. While
  /// no member of etcd has data as recent as the lead, the server gives the lead back and stands
  /// by.
  bool wait_to_lead(std::string const& http, net::service_manager& manager);
  /// Returns the store in etcd, whose data are as recent as the lead. REQUIRES: `wait_to_lead` has
  /// returned true, with `--store`; called once.
  std::unique_ptr<journal::store> take_store() { return std::move(store_); }
  /// Nothing is answered any more: the next one may lead at once.
  void resign();

 private:
  void set(web::not_serving state);
  journal::etcd::access access() const;
  std::string address(std::string const& http) const;
  muster::status open_etcd(journal::etcd::leadership const& l);

  configuration const& configuration_;
  std::chrono::steady_clock::time_point const begun_ = std::chrono::steady_clock::now();
  std::unique_ptr<journal::etcd::leadership> leadership_;  // set before any other thread asks
  std::unique_ptr<journal::store> store_;                  // from the lead until it is taken

  mutable std::mutex mutex_;
  std::optional<web::not_serving> state_ = web::not_serving{"the server starts", {}};
  std::chrono::steady_clock::time_point state_since_ = begun_;
};

}  // namespace muster::server
