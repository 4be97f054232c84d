// A declared cluster, the coordination service of its current generation, and its earlier
// generations. Used only on the engine thread.
//
// Transitions to the next generation:
//
//   running --registration after a failure, or after all tasks left--> next generation
//   running --renewal, or end after a redeclaration--> closed for one tick --> next generation
#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "server/core/coordination/api/events.hpp"
#include "server/core/coordination/service.hpp"

namespace muster::core::coordination {

/// Generates incarnations of coordination services from a seed; repetitions are negligibly rare.
class incarnation_source {
 public:
  explicit incarnation_source(std::uint64_t seed) : state_(seed) {}

  core::incarnation next() {
    for (;;)
      if (auto const n = split_mix(); n != 0) return core::incarnation{n};
  }

 private:
  std::uint64_t split_mix() {
    state_ += 0x9E3779B97F4A7C15u;
    auto z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  std::uint64_t state_;
};

class cluster {
 public:
  /// `known` states whether restore() will be called next. REQUIRES: `spec` is valid.
  cluster(cluster_spec spec, limits const& l, incarnation_source& source, change_log log,
          bool known);

  cluster_spec const& spec() const { return spec_; }
  service const& current() const { return *current_; }
  cluster_view view(time_point now) const;
  std::deque<generation_view> const& past() const { return ended_generations_; }
  /// Restores a generation from an earlier server process. Ignored if the generation is known, or
  /// is not earlier than the current generation.
  void remember(generation_view g);

  void append_records(changes const& step, std::size_t first, std::vector<fact>& out) const;
  void append_all_records(std::vector<fact>& out) const;
  void write_state(change_log const& log) const;
  /// Restores the cluster's state and restarts all heartbeat timeouts. REQUIRES: no other event was
  /// handled.
  void restore(restored_cluster const& r, time_point now);

  /// Returns false if the request was refused without any effect.
  bool perform(time_point now, request& r, effects& fx);
  void call_abandoned(time_point now, call_id call, effects& fx) {
    current_->call_abandoned(now, call, fx);
  }
  void connection_closed(time_point now, task_index t, core::incarnation i) {
    current_->connection_closed(now, t, i);
  }
  void tick(time_point now, effects& fx);
  /// See redeclare_cluster. Returns false if nothing changes. REQUIRES: `spec` is valid and has the
  /// same name.
  bool redeclare(cluster_spec spec, effects& fx);
  /// See renew_cluster. Has the same requirements as redeclare.
  void end_generation(time_point now, cluster_spec spec, effects& fx);
  status give_up(time_point now, fail_cluster const& e, effects& fx);
  void listens(std::uint16_t port, bool journalled, effects& fx);
  std::uint16_t port() const { return port_; }
  void stop(time_point now, effects& fx);
  time_point next_deadline(time_point now) const;

 private:
  void start_generation();
  void begin_again();
  void append_declared(declared_why why, change_log const& log) const;
  void append_begun(begun_why why, change_log const& log) const;
  fact declaration(bool anew) const;
  void renew(time_point now, effects& fx);
  void close(time_point now, effects& fx);
  bool over() const;
  bool is_unused() const;
  bool has_pending_declaration() const;
  bool refuse_during_redeclare(request const& r, effects& fx) const;
  static void break_off(generation_view& g, time_point now);
  void retire(std::string cause);
  fault_ptr retired_fault(request const& r) const;

  /// An ended generation. Its processes can continue to run for a long time, but must not act for
  /// the tasks that replaced them.
  struct retired {
    generation which;
    std::string cause;
    std::vector<core::incarnation> tasks;  // sorted
    std::vector<std::string> peers;        // sorted
  };

  limits const& limits_;
  incarnation_source& source_;
  cluster_spec spec_;
  std::optional<cluster_spec> next_;
  bool closed_ = false;
  bool stopped_ = false;
  std::uint16_t port_ = 0;
  generation generation_{0, {}};
  std::unique_ptr<service> current_;
  std::deque<generation_view> ended_generations_;  // newest first, at most 16
  // Newest first. Contains at most 16 generations and 200,000 tasks, but always the newest
  // generation. Calls from members of older generations are treated as calls from current tasks.
  std::deque<retired> retired_;
  change_log const log_;
};

}  // namespace muster::core::coordination
