// The clusters' coordination hub with its timer and, where `--data-dir` names one, the directory
// that it is written down in. Owned by the composition root; engine thread, or before that runs.
#pragma once

#include "coro/engine_context.hpp"
#include "coro/timer_queue.hpp"
#include "app/clock.hpp"
#include "app/configuration.hpp"
#include "app/data_directory.hpp"
#include "app/standby.hpp"

namespace muster::server {

class durable_coordination {
 public:
  /// `sockets_held`: clients that dial while the next process starts wait for it. `tell`: a line
  /// for the log and the event feed. REQUIRES: all outlive it.
  durable_coordination(configuration const& c, bool sockets_held, standby& turn,
                       coro::engine_context& engine, anchored_clock const& clock,
                       std::function<void(notice const&)> tell);

  coordination_hub& hub() { return hub_; }
  /// Where jobs are written down, too; open between `begin` and `finish`.
  data_directory& data() { return data_; }

  /// What stands in the directory, then what is declared. start_error: see data_directory, or what
  /// is wrong with a declaration.
  void begin(std::string const& version);
  /// Writes what waits, and answers those who wait for it. Main thread, when nothing changes any
  /// more and the engine still runs; `on_engine` runs work there and waits for it.
  void finish(std::function<void(std::function<void()>)> const& on_engine);

 private:
  core::coordination::limits limits() const;
  muster::status open(std::string const& version);
  coordination_environment surroundings();
  void arm(core::time_point at);
  void written(std::uint64_t durable, muster::status const& failed);
  void declare(core::coordination::cluster_spec spec);

  configuration const& configuration_;
  bool const sockets_held_;
  standby& turn_;
  coro::engine_context& engine_;
  anchored_clock const& clock_;
  std::function<void(notice const&)> const tell_;
  data_directory data_;  // has a thread of its own
  coro::timer deadline_;
  coordination_hub hub_;
};

}  // namespace muster::server
