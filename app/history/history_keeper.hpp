// Gives what the listeners have seen to the store, once a second, and gives it back to them at a
// start: events, charts, what workers did, figures of machines, and what closures printed whose
// jobs are there; runs of clusters. What has ended is kept as well, for those who ask for it by
// time.
//
// Owned by the app; engine thread, or before that runs, unless it says otherwise. Nothing that it
// does can fail the server: what cannot be read or written is said once. Limit: a second's work is
// bounded (see history_keeper.cpp), the rest waits in the listeners, which have limits of their
// own.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/engine_assembly.hpp"
#include "app/store_assembly.hpp"
#include "coro/timer_queue.hpp"
#include "server/history/store/history_store.hpp"
#include "server/history/store/past_reader.hpp"
#include "server/history/store/records.hpp"
#include "server/hub/pools.hpp"

namespace muster::server {

class history_keeper {
 public:
  /// REQUIRES: both outlive it.
  history_keeper(engine_assembly& engine, store_assembly& store);

  /// Opens the store, where there is a directory for one, and gives back what stands in it.
  void restore();
  /// From here on it keeps. REQUIRES: it is restored.
  void begin();
  /// What is left; then nothing is kept any more.
  void finish();
  /// Main thread, behind that: waits until it is written.
  void stop();

  // Any thread, once it is restored.
  /// Points of charts of an earlier process, oldest first; once.
  std::vector<past_point> take_points() { return std::exchange(points_, {}); }
  void keep(past_point const& p);
  /// Reads what is kept.
  past_reader& past() { return reader_; }

 private:
  void open();
  void read();
  template <class Decode, class Take>
  void read_records(history_kind kind, core::time_point since, history_store::amount most,
                    Decode const& decode, Take const& take);
  void read_steps();
  void read_lines(core::time_point since);
  void report_unreadable();
  void look();
  void keep_events();
  void keep_machines();
  void keep_spans();
  void keep_lines();
  void keep_runs();
  void keep_jobs();
  void keep_steps();

  engine_assembly& engine_;
  pools& pools_;
  coordination_hub& coordination_;
  coro::timer next_;
  std::unique_ptr<history_store> store_;
  past_reader reader_;  // of it
  std::vector<past_point> points_;
  std::atomic<bool> keeps_ = false;
  std::uint64_t unreadable_reported_ = 0;
  std::uint64_t events_kept_ = 0;                                      // number of the last
  std::map<std::string, std::uint64_t> spans_kept_;                    // by cluster: where to go on
  std::map<core::coordination::cluster_id, std::uint64_t> runs_kept_;  // number of the last
  core::time_point machines_kept_{};                                   // what was seen until then
};

}  // namespace muster::server
