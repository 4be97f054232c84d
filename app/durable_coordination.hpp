// The clusters' coordination hub with its timer and, where `--data-dir` names one, the directory
// that it is written down in. Owned by the composition root; engine thread, or before that runs.
#pragma once

#include "app/data_directory.hpp"
#include "app/engine_assembly.hpp"
#include "app/standby.hpp"
#include "coro/timer_queue.hpp"

namespace muster::server {

class durable_coordination {
 public:
  /// `sockets_held`: clients that dial while the next process starts wait for it. REQUIRES: all
  /// outlive it.
  durable_coordination(engine_assembly& engine, standby& leadership, bool sockets_held);

  coordination_hub& hub() { return hub_; }
  /// Where jobs are written down, too; open between `begin` and `finish`.
  data_directory& data() { return data_; }

  /// What stands in the directory, then what is declared. start_error: see data_directory, or what
  /// is wrong with a declaration.
  void begin(std::string const& version);
  /// Who knows of the history that is kept; before the engine runs.
  void describe_history(std::function<std::optional<store_view::kept_history>()> by) {
    history_ = std::move(by);
  }
  /// Writes what waits, and answers those who wait for it. Main thread, when nothing changes any
  /// more and the engine still runs.
  void finish();

 private:
  core::coordination::limits limits() const;
  muster::status open(std::string const& version);
  muster::status look(std::string const& version);
  coordination_dependencies dependencies();
  void arm(core::time_point at);
  void written(std::uint64_t durable, muster::status const& failed);
  void declare(core::coordination::cluster_spec spec);

  engine_assembly& engine_;
  standby& leadership_;
  bool const sockets_held_;
  std::function<std::optional<store_view::kept_history>()> history_ = [] {
    return std::optional<store_view::kept_history>();
  };
  data_directory data_;  // has a thread of its own
  coro::timer deadline_;
  coordination_hub hub_;
};

}  // namespace muster::server
