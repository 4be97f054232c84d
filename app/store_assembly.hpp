// What is kept, where, and by which right: the leadership, the clusters' coordination hub with its
// timer and their hubs of closures, the directory or store that they are written down in, spilled
// values, blobs. Owned by the composition root; engine thread, or before that runs, unless it says
// main thread.
#pragma once

#include "app/closure_hubs.hpp"
#include "app/data_directory.hpp"
#include "app/engine_assembly.hpp"
#include "app/standby.hpp"
#include "coro/timer_queue.hpp"
#include "server/hub/blob_store.hpp"
#include "server/hub/spill_store.hpp"

namespace muster::server {

class store_assembly {
 public:
  /// `sockets_held`: clients that dial while the next process starts wait for it. REQUIRES: the
  /// engine outlives it.
  store_assembly(engine_assembly& engine, bool sockets_held);

  standby& leadership() { return leadership_; }
  /// Open between `begin` and `finish_journal`.
  data_directory& data() { return data_; }
  coordination_hub& coordination() { return coordination_; }
  server::pools& pools() { return hubs_.pools(); }
  program_clusters& of_programs() { return hubs_.of_programs(); }
  blob_store& blobs() { return blobs_; }

  /// What stands in the data directory, then the clusters that are declared. start_error: see
  /// data_directory, or what is wrong with a declaration.
  void begin(std::string const& version);
  /// Who knows of the history that is kept; before the engine runs.
  void describe_history(std::function<std::optional<store_view::kept_history>()> by) {
    history_ = std::move(by);
  }
  /// Behind the data directory, before the engine runs. start_error.
  void open_files();
  /// Looks every second which blobs are named no more, more often while workers hold some and
  /// shortly after.
  /// REQUIRES: the files are open.
  void watch_blobs();
  /// Restores jobs. REQUIRES: data directory and files are open.
  void restore_jobs();
  /// Writes what waits, and answers those who wait for it. Main thread, when nothing changes any
  /// more and the engine still runs.
  void finish_journal();
  /// Main thread, when nobody is answered any more: what is on its way to a file is abandoned.
  void stop_files();

 private:
  /// Returns if this server may still answer.
  core::time_point now() const;
  core::coordination::limits limits(bool sockets_held) const;
  coordination_dependencies dependencies();
  muster::status open(std::string const& version);
  muster::status look(std::string const& version);
  void declare(core::coordination::cluster_spec spec);
  void name_blobs(core::restored_job const& job);
  void keep_uploads();
  void make_again(core::closure_id id);

  engine_assembly& engine_;
  standby leadership_;
  spill_store spill_;  // has a thread of its own
  blob_store blobs_;   // has a thread of its own
  coro::timer next_look_;
  core::time_point uploads_looked_at_{};
  core::time_point outputs_seen_at_{};
  std::function<std::optional<store_view::kept_history>()> history_ = [] {
    return std::optional<store_view::kept_history>();
  };
  data_directory data_;   // has a thread of its own
  coro::timer deadline_;  // of the clusters' coordination
  coordination_hub coordination_;
  closure_hubs hubs_;
};

}  // namespace muster::server
