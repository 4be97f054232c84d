// Writes batches of changes to the store, in order, on a thread of its own. Nothing else uses the
// store while the server runs.
//
//   append ──► queue ──► one write for the whole queue ──► durable(n)
//   engine               journal's thread                   engine
//
// An idle journal writes at once. While it is busy, and for up to `commit_delay` after that,
// batches collect in the queue. The queue is unbounded: callers check `full()` before they accept
// new work.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "server/journal/store.hpp"

namespace muster::server::journal {

struct journal_options {
  /// Size of the queue, in bytes, from which `full()` returns true.
  std::size_t queue_bytes_max = std::size_t{64} << 20;
  /// Free disk space reserved for accepted work. Below it, `full()` returns true. Checked every
  /// second; for etcd only with writes.
  std::uint64_t reserve_bytes = std::uint64_t{64} << 20;
  /// Maximum delay of a batch that was appended during a write, to collect more.
  std::chrono::microseconds commit_delay{0};
};

struct journal_stats {
  std::uint64_t appended = 0;  ///< batches appended
  std::uint64_t durable = 0;   ///< batches that are durable
  std::uint64_t writes = 0;    ///< writes of the store, each of the whole queue
  std::uint64_t waiting_bytes = 0;
  /// Size of the store, checked at most every ten seconds.
  std::uint64_t disk_bytes = 0;
  std::optional<std::uint64_t> free_bytes;  ///< free disk space, checked at most every second
  bool disk_is_full = false;                ///< less than the reserve is free
  std::string store_version;                ///< see store::version
  muster::status failed;                    ///< if not OK: nothing is written after this error
};

class journal {
 public:
  /// Called on the journal's thread when batches up to `durable` are durable. With an error, no
  /// later batch will become durable. Also called when the disk becomes full or has space again.
  using progress = std::function<void(std::uint64_t durable, muster::status const& failed)>;

  journal(std::unique_ptr<store> s, journal_options o, progress p);
  ~journal() { stop(); }
  journal(journal const&) = delete;

  // The following functions can be called on any thread.
  /// Appends a batch and returns its number, from 1.
  std::uint64_t append(std::vector<change> batch);
  /// Returns whether the queue or the disk has no space for new work.
  bool full() const;
  journal_stats facts() const;
  /// Writes the remaining batches and ends the thread. Must not be followed by append(). Does not
  /// call the callback any longer. A remote store may give up if it gets no answer, which facts()
  /// then reports.
  void stop();

 private:
  void run();
  bool put_back(std::vector<change> batch, std::unique_lock<std::mutex>& lock);
  bool update_free_space();

  std::unique_ptr<store> const store_;
  journal_options const options_;
  progress const progress_;

  mutable std::mutex mutex_;
  std::condition_variable appended_;
  std::vector<change> queue_;  // guarded by mutex_, like all members below
  journal_stats facts_;
  bool stopping_ = false;
  bool ended_ = false;  // the thread has finished
  std::condition_variable end_;
  bool writing_ = false;
  std::chrono::steady_clock::time_point gather_until_{};

  std::thread thread_;  // last member, because it uses the others
};

}  // namespace muster::server::journal
