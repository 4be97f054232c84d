// What is written down, by a thread of its own: batches of changes, in order, many at one time. The
// only one who touches the store while the server runs.
//
//   engine  append ──► queue ──► journal's thread: all that waits, one write ──► durable(n) ──►
//   engine
//
// An idle disk writes at once what comes; while it is busy, or for `commit_delay` after the first
// one that waits, batches gather. The queue has a limit of bytes, which is not enforced here:
// whoever appends asks `full()` first and takes nothing new while it is.
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
  /// Changes that wait for the disk, in bytes. Full: no new work that has to be written down.
  std::size_t queue_bytes_max = std::size_t{64} << 20;
  /// Of the disk, for what was accepted. Less is free: as when the queue is full, until there is
  /// more; looked at every second, of etcd only while something is written.
  std::uint64_t reserve_bytes = std::uint64_t{64} << 20;
  /// What came while the disk was busy waits so long, at most, for more to be written with it.
  std::chrono::microseconds commit_delay{0};
};

/// For people and metrics.
struct journal_facts {
  std::uint64_t appended = 0;  ///< batches
  std::uint64_t durable = 0;   ///< of them
  std::uint64_t writes = 0;    ///< of the store, each with all that waited
  std::uint64_t waiting_bytes = 0;
  std::uint64_t disk_bytes = 0;             ///< of the store, looked at every ten seconds at most
  std::optional<std::uint64_t> free_bytes;  ///< of the disk, looked at every second at most
  bool disk_is_full = false;                ///< less than the reserve is free
  std::string store_version;                ///< see store::version
  muster::status failed;                    ///< not OK: nothing is written any more
};

class journal {
 public:
  /// Batches up to this one are durable, or, with an error, no later one will ever be. Also when
  /// the disk is full, or is not any more. From the journal's thread.
  using progress = std::function<void(std::uint64_t durable, muster::status const& failed)>;

  /// Starts the thread. Takes the store.
  journal(std::unique_ptr<store> s, journal_options o, progress p);
  ~journal() { stop(); }
  journal(journal const&) = delete;

  // Any thread.
  /// Its number; they begin with 1.
  std::uint64_t append(std::vector<change> batch);
  /// The queue, or the disk, has no room for anything new.
  bool full() const;
  journal_facts facts() const;
  /// Writes what waits and ends the thread; nothing is told any more. Nothing may be appended then.
  /// A store that others keep for us may give up when they are silent; facts() say so.
  void stop();

 private:
  void run();
  bool put_back(std::vector<change> batch, std::unique_lock<std::mutex>& lock);
  bool look_for_room();

  std::unique_ptr<store> const store_;
  journal_options const options_;
  progress const progress_;

  mutable std::mutex mutex_;
  std::condition_variable appended_;
  std::vector<change> queue_;  // under mutex_, as all below
  journal_facts facts_;
  bool stopping_ = false;
  bool ended_ = false;  // the thread has nothing to do any more
  std::condition_variable end_;
  bool writing_ = false;
  std::chrono::steady_clock::time_point gather_until_{};

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace muster::server::journal
