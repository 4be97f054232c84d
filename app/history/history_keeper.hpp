// Writes listeners' records to the history store once per second, and restores them at startup:
// events, charts, worker activity, machine statistics, output of existing jobs' closures, and
// cluster runs. Owned by the app. Used only on the engine thread once it runs, unless stated
// otherwise. History errors never stop the server and are logged once. The work per second is
// bounded (see history_keeper.cpp). The remaining data waits in the listeners, which have their own
// limits.
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
#include "server/history/store/history_reader.hpp"
#include "server/history/store/history_store.hpp"
#include "server/history/store/records.hpp"
#include "server/hub/pools.hpp"

namespace muster::server {

class history_keeper {
 public:
  history_keeper(engine_assembly& engine, store_assembly& store);

  void restore();
  /// @pre restore() was called.
  void begin();
  void finish();
  /// Waits until all records are written. Call this on the main thread, after finish().
  void stop();

  // The following functions are thread-safe after restore().
  /// Returns the chart points of an earlier process, oldest first. Later calls return no points.
  std::vector<chart_point> take_chart_points() { return std::exchange(points_, {}); }
  void keep(chart_point const& p);
  history_reader& past() { return reader_; }

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
  history_reader reader_;
  std::vector<chart_point> points_;
  std::atomic<bool> keeps_ = false;
  std::uint64_t unreadable_reported_ = 0;
  std::uint64_t events_kept_ = 0;
  std::map<std::string, std::uint64_t> spans_kept_;  // position at which to continue, by cluster
  std::map<core::coordination::cluster_id, std::uint64_t> runs_kept_;
  core::time_point machines_kept_{};
};

}  // namespace muster::server
