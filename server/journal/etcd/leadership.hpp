// Who of the servers with one store serves: the one whose key, with a lease, is there. Keeps that
// lease alive by a thread of its own and knows, by a clock that no stop of the process stops, until
// when nobody else can have it. A second thread ends the process then, and `check` does before
// anything is told; neither waits for etcd.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "server/journal/etcd/client.hpp"

namespace muster::server::journal::etcd {

/// The leader's key as it must be for a transaction of this leader to count.
struct term {
  std::int64_t created = 0;  ///< the revision that made it
  std::int64_t version = 0;  ///< one more with each transaction
};

struct leadership_options {
  std::string address;            ///< told to clients of those who wait: "host:port"
  std::uint64_t self = 0;         ///< random; this process
  std::chrono::seconds lease{3};  ///< etcd may make it longer
  /// This process may not answer any more, and why. Must not return; any thread.
  std::function<void(std::string const& why)> over;
};

class leadership {
 public:
  leadership(access a, leadership_options o);
  ~leadership();
  leadership(leadership const&) = delete;

  struct seen {
    bool leads = false;
    std::string leader;  ///< its address; empty: there is none
  };
  /// One look, and an attempt to lead where nobody does. UNAVAILABLE: etcd does not answer; others:
  /// it refuses. One thread, until it leads.
  muster::result<seen> try_to_lead();

  /// REQUIRES: leads. Main thread.
  leadership::seen const& state() const { return seen_; }
  term begun() const { return term_; }

  // Any thread, at any time.
  /// Breaks an attempt to lead off.
  void give_up() { client_.give_up(); }
  /// Returns if this process may answer. Costs the time of a look at the clock.
  void check() const {
    if (left() <= std::chrono::microseconds(0)) over_in_words();
  }
  /// Largest possible when it was never asked to lead.
  std::chrono::microseconds left() const;

  /// Gives the lease back, so that the next one serves at once; half a second at most, and
  /// harmless where there is none. REQUIRES: nothing is answered any more, nobody tries to lead.
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
  void over_in_words() const;

  leadership_options const options_;
  client client_;  // main thread, then the one that renews
  std::string const key_;
  seen seen_;
  term term_;
  std::int64_t lease_ = 0;  // of etcd
  std::atomic<std::int64_t> until_us_;
  std::int64_t granted_until_us_ = 0;
  std::int64_t revision_ = 0;  // of etcd, when it was last looked at

  std::mutex mutex_;
  std::condition_variable ending_;
  bool end_ = false;  // under mutex_
  std::thread renewing_, watching_;
};

}  // namespace muster::server::journal::etcd
