// Election among the servers of one store: the server whose key, with a lease, exists in etcd
// leads. One thread renews the lease. A clock that continues while the process is stopped
// determines until when no other server can lead. Then a second thread ends the process, and
// `check` ends it before any answer is sent. Neither waits for etcd.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "server/journal/etcd/client.hpp"

namespace muster::server::journal::etcd {

/// Required state of the leader's key for this leader's transactions.
struct term {
  std::int64_t created = 0;  ///< revision that created the key
  std::int64_t version = 0;  ///< incremented by each transaction
};

struct leadership_options {
  std::string address;            ///< "host:port", for clients of waiting servers
  std::uint64_t self = 0;         ///< random identifier of this process
  std::chrono::seconds lease{3};  ///< etcd may grant a longer lease
  /// Called on any thread, with the reason, when this process may no longer answer. Must not
  /// return.
  std::function<void(std::string const& why)> over;
};

class leadership {
 public:
  leadership(access a, leadership_options o);
  ~leadership();
  leadership(leadership const&) = delete;

  struct seen {
    bool leads = false;
    std::string leader;  ///< address of the leader; empty: no leader
  };
  /// Reads the leader's key once, and tries to lead if there is none. One thread, until it leads.
  /// @return UNAVAILABLE: etcd does not answer. Other codes: etcd rejects the request.
  muster::result<seen> try_to_lead();

  /// State after a successful try_to_lead. Main thread.
  leadership::seen const& state() const { return seen_; }
  term begun() const { return term_; }

  // The following functions can be called on any thread.
  /// Stops an attempt to lead.
  void give_up() { client_.give_up(); }
  /// Returns if this process may answer, otherwise ends it. Costs one reading of the clock.
  void check() const {
    if (left() <= std::chrono::microseconds(0)) end_process_after_loss();
  }
  /// Returns the remaining time of the lease, or the maximum value if try_to_lead was never called.
  std::chrono::microseconds left() const;

  /// Revokes the lease, so that another server can lead at once. Takes at most half a second.
  /// Harmless without a lease.
  /// @pre No answer is sent any longer, and try_to_lead is not running.
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
  client client_;  // used by the main thread, then by the renewing thread
  std::string const key_;
  seen seen_;
  term term_;
  std::int64_t lease_ = 0;  // id of the lease in etcd
  std::atomic<std::int64_t> until_us_;
  std::int64_t granted_until_us_ = 0;
  std::int64_t revision_ = 0;  // revision of etcd at the last check

  std::mutex mutex_;
  std::condition_variable ending_;
  bool end_ = false;  // guarded by mutex_
  std::thread renewing_, watching_;
};

}  // namespace muster::server::journal::etcd
