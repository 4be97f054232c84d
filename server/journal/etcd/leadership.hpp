// Election among the servers of one store: the server whose key exists in etcd, with a valid lease,
// is the leader. One thread renews the lease. When another server could become the leader, a second
// thread ends the process. `check` also ends the process before an answer is sent. Neither waits
// for etcd.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "server/journal/etcd/client.hpp"

namespace muster::server::journal::etcd {

/// Expected state of the leader's key in transactions of this leader.
struct term {
  std::int64_t created = 0;
  std::int64_t version = 0;  ///< incremented by each transaction
};

struct leadership_options {
  std::string address;            ///< "host:port"; servers that wait report it to clients
  std::uint64_t self = 0;         ///< random identifier of this process
  std::chrono::seconds lease{3};  ///< etcd may grant a longer lease
  /// Called on any thread, with the reason, when this process must stop answering. Must not return.
  std::function<void(std::string const& why)> over;
};

class leadership {
 public:
  leadership(access a, leadership_options o);
  ~leadership();
  leadership(leadership const&) = delete;

  struct seen {
    bool leads = false;
    std::string leader;  ///< address; empty if there is no leader
  };
  /// Reads the leader's key once, and tries to become the leader if there is no leader. Called by
  /// one thread, until this server is the leader.
  /// @return UNAVAILABLE if etcd does not answer; another code if etcd rejects the request
  muster::result<seen> try_to_lead();

  /// Valid once try_to_lead() has succeeded. Call it on the main thread.
  leadership::seen const& state() const { return seen_; }
  term begun() const { return term_; }

  // The following functions are thread-safe.
  /// Stops try_to_lead().
  void give_up() { client_.give_up(); }
  /// Returns if this process may answer, otherwise ends the process.
  void check() const {
    if (left() <= std::chrono::microseconds(0)) end_process_after_loss();
  }
  /// Returns the remaining time of the lease, or the maximum duration if try_to_lead() was never
  /// called.
  std::chrono::microseconds left() const;

  /// Revokes the lease, so that another server can lead immediately. Takes at most half a second.
  /// @pre No further answer is sent, and try_to_lead() is not running.
  void resign();

 private:
  using microseconds = std::chrono::microseconds;

  muster::result<seen> look();
  muster::result<seen> grant_and_put();
  muster::status refused(grpc::Status const& s);
  seen take(wire::KeyValue const& kv);
  bool in_time() const;
  void revoke();
  void begin(term t);
  void renew_again_and_again();
  void renew();
  void watch();
  void end_threads();
  void end_process_after_loss() const;

  leadership_options const options_;
  client client_;  // used by the main thread, and later by the renewing thread
  std::string const key_;
  seen seen_;
  term term_;
  std::int64_t lease_ = 0;
  std::atomic<std::int64_t> until_us_;
  std::int64_t granted_until_us_ = 0;
  std::int64_t revision_ = 0;

  std::mutex mutex_;
  std::condition_variable ending_;
  bool end_ = false;  // guarded by mutex_
  std::thread renewing_, watching_;
};

}  // namespace muster::server::journal::etcd
