// Storage of the server: leadership, the coordination hub with its timer, the closures' hubs, the
// data directory or store, spilled values, and blobs. Owned by the composition root. Used only on
// the engine thread once it runs, unless stated otherwise.
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
  /// @param sockets_held Whether clients that connect during a restart wait for the next process.
  /// @pre The engine outlives this object.
  store_assembly(engine_assembly& engine, bool sockets_held);

  standby& leadership() { return leadership_; }
  data_directory& data() { return data_; }
  coordination_hub& coordination() { return coordination_; }
  server::pools& pools() { return hubs_.pools(); }
  program_clusters& of_programs() { return hubs_.of_programs(); }
  blob_store& blobs() { return blobs_; }

  /// Restores the data directory, then declares the configured clusters.
  /// @throws start_error like data_directory, or if a declaration is invalid
  void begin(std::string const& version);
  /// Must be called before the engine runs.
  void describe_history(std::function<std::optional<store_view::kept_history>()> by) {
    history_ = std::move(by);
  }
  /// Opens spill and blob files. Must be called after begin(), before the engine runs.
  /// @throws start_error
  void open_files();
  /// Removes unreferenced blobs every second, and more often while workers hold blobs or have
  /// recently held blobs.
  /// @pre The files are open.
  void watch_blobs();
  /// @pre The data directory and the files are open.
  void restore_jobs();
  /// Writes pending changes and answers their requests. Call this on the main thread while the
  /// engine is running and no state changes.
  void finish_journal();
  /// Abandons pending file writes. Call this on the main thread, after the last request was
  /// answered.
  void stop_files();

 private:
  core::time_point now() const;
  core::coordination::limits limits(bool sockets_held) const;
  coordination_dependencies dependencies();
  muster::status open(std::string const& version);
  muster::status look(std::string const& version);
  void declare(core::coordination::cluster_spec spec);
  void reference_blobs(core::restored_job const& job);
  void keep_uploads();
  void recompute(core::closure_id id);

  engine_assembly& engine_;
  standby leadership_;
  spill_store spill_;
  blob_store blobs_;
  coro::timer next_check_at_;
  core::time_point uploads_checked_at_{};
  core::time_point outputs_seen_at_{};
  std::function<std::optional<store_view::kept_history>()> history_ = [] {
    return std::optional<store_view::kept_history>();
  };
  data_directory data_;
  coro::timer deadline_;
  coordination_hub coordination_;
  closure_hubs hubs_;
};

}  // namespace muster::server
