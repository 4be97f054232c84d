// One declared cluster: its declaration, the coordination service of its current generation, and
// what is remembered of earlier ones. Owned by `clusters`; engine thread only; pure.
//
//   running --failed, or everybody left; a new registration--> the next generation
//      \--redeclared meanwhile: ended; or to be renewed--> closed (a tick) --> the next generation
//      (the next tick)
#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "server/core/coordination/api/events.hpp"
#include "server/core/coordination/service.hpp"

namespace muster::core::coordination {

/// Incarnations of coordination services: they follow from a seed and practically never repeat.
/// Owned by `clusters`.
class incarnation_source {
 public:
  explicit incarnation_source(std::uint64_t seed) : state_(seed) {}

  /// Never 0.
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
  /// REQUIRES: limits and source outlive it; the declaration is valid.
  /// `known`: it is restored next.
  cluster(cluster_spec spec, limits const& l, incarnation_source& source, change_log log,
          bool known);

  cluster_spec const& spec() const { return spec_; }
  service const& current() const { return *current_; }
  cluster_view view(time_point now) const;
  /// Newest first, at most 16.
  std::deque<generation_view> const& past() const { return past_; }
  /// A run of an earlier process, in its place; passed over: it is known, or none before this one.
  void remember(generation_view g);

  /// The last word on what a step has changed of it, from the change at `first` on, that a restart
  /// must know.
  void say_facts(changes const& step, std::size_t first, std::vector<fact>& out) const;
  /// All that it would have said since its generation began, but for barriers that run.
  void say_everything(std::vector<fact>& out) const;
  /// All of it, as changes.
  void say_whole(change_log const& log) const;
  /// As it was; its silence counts from now. REQUIRES: nothing has happened yet.
  void restore(restored_cluster const& r, time_point now);

  /// False: refused before anything could change.
  bool perform(time_point now, request& r, effects& fx);
  void call_gone(time_point now, call_id call, effects& fx) { current_->call_gone(now, call, fx); }
  void connection_closed(time_point now, task_index t, core::incarnation i) {
    current_->connection_closed(now, t, i);
  }
  void tick(time_point now, effects& fx);
  /// See redeclare_cluster. False: nothing changes. REQUIRES: valid, and of the same name.
  bool redeclare(cluster_spec spec, effects& fx);
  /// See renew_cluster. REQUIRES: as redeclare.
  void end_generation(time_point now, cluster_spec spec, effects& fx);
  /// See fail_cluster.
  status give_up(time_point now, fail_cluster const& e, effects& fx);
  /// See cluster_listens.
  void listens(std::uint16_t port, bool journalled, effects& fx);
  /// The port of its own that it had last; 0: none.
  std::uint16_t port() const { return port_; }
  /// Answers every parked call; requests are refused from then on.
  void stop(time_point now, effects& fx);
  time_point next_deadline(time_point now) const;

 private:
  void start_generation();
  void begin_again();
  void say_declared(declared_why why, change_log const& log) const;
  void say_begun(begun_why why, change_log const& log) const;
  fact declaration(bool anew) const;
  void renew(time_point now, effects& fx);
  void close(time_point now, effects& fx);
  bool over() const;
  bool untouched() const;
  bool outdated() const;
  bool put_off(request const& r, effects& fx) const;
  static void break_off(generation_view& g, time_point now);
  void retire(std::string cause);
  /// What a call from an ended generation is told; null: it comes from none of them.
  fault_ptr retired_fault(request const& r) const;

  /// An ended generation: by what its members are recognised, who may live on for long and must not
  /// act for the tasks that have taken their places.
  struct retired {
    generation which;
    std::string cause;
    std::vector<core::incarnation> tasks;  // in order
    std::vector<std::string> peers;        // the same
  };

  limits const& limits_;
  incarnation_source& source_;
  cluster_spec spec_;
  std::optional<cluster_spec> next_;  // declared since, for the generation after this one
  bool closed_ = false;               // stopped to make room for `next_`
  bool stopped_ = false;              // for good
  std::uint16_t port_ = 0;
  generation generation_{0, {}};
  std::unique_ptr<service> current_;
  std::deque<generation_view> past_;  // newest first, at most 16
  // Newest first; at most 16, and 200,000 tasks; the last one always. More: the oldest is
  // forgotten, and its members are taken for tasks of the current one.
  std::deque<retired> retired_;
  change_log const log_;
};

}  // namespace muster::core::coordination
