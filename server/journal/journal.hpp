// Writes batches of changes to the store, in order, on its own thread. Nothing else uses the store
// while the server is running. Path of a batch:
//
//   append ──► queue ──► one write for the whole queue ──► durable(n)
//   engine               journal's thread                  engine
//
// An idle journal writes immediately. During a write, and for up to `commit_delay` afterwards,
// batches collect in the queue. The queue is unbounded, so callers must check `full()` before they
// accept new work.
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
  /// Size of the queue at which `full()` returns true.
  std::size_t queue_bytes_max = std::size_t{64} << 20;
  /// Free disk space reserved for accepted work. If less is free, `full()` returns true. Checked
  /// every second; for etcd, only when the journal writes.
  std::uint64_t reserve_bytes = std::uint64_t{64} << 20;
  /// Maximum delay of a batch that was appended during a write. A longer delay combines more
  /// batches.
  std::chrono::microseconds commit_delay{0};
};

struct journal_stats {
  std::uint64_t appended = 0;
  std::uint64_t durable = 0;
  std::uint64_t writes = 0;  ///< each writes a whole queue
  std::uint64_t waiting_bytes = 0;
  /// Updated at most every ten seconds.
  std::uint64_t disk_bytes = 0;
  std::optional<std::uint64_t> free_bytes;  ///< updated at most every second
  bool disk_is_full = false;                ///< whether less than reserve_bytes is free
  std::string store_version;
  muster::status failed;  ///< error of the last write; nothing is written after an error
};

class journal {
 public:
  /// Called on the journal's thread when batches up to `durable` are durable. After an error, no
  /// later batch becomes durable. Also called when the disk becomes full or has space again.
  using progress = std::function<void(std::uint64_t durable, muster::status const& failed)>;

  journal(std::unique_ptr<store> s, journal_options o, progress p);
  ~journal() { stop(); }
  journal(journal const&) = delete;

  // The following functions are thread-safe.
  /// Returns the batch's number; the first number is 1.
  std::uint64_t append(std::vector<change> batch);
  bool full() const;
  journal_stats facts() const;
  /// Writes the remaining batches and stops the thread. The callback is no longer called, and
  /// append() must not be called. A remote store that does not answer may give up; facts() then
  /// contains the error.
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
  std::vector<change> queue_;  // guarded by mutex_, as are the following members
  journal_stats facts_;
  bool stopping_ = false;
  bool ended_ = false;
  std::condition_variable end_;
  bool writing_ = false;
  std::chrono::steady_clock::time_point gather_until_{};

  std::thread thread_;  // last member, because it uses the other members
};

}  // namespace muster::server::journal
