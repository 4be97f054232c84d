// Programs and their life cycles, from submission to the end of the last attempt. Performs no
// I/O. Events are the input; the output consists of orders and changes, which the coordinator
// executes:
//
//   submit, wish ─────────────┐                          ┌──► orders to workers (api/ranks.hpp)
//   attached, away, reports ──┼──► course ──► attempts ──┤
//   tick (leases, deadlines) ─┘      ▲                   └──► changes
//                                    └──── placer, at the end of the step
//
// The next attempt begins only when every rank of the previous attempt is known to be dead. A rank
// is dead if its worker has reported the rank's end, has reconnected without the rank, or has not
// renewed the lease in time. A worker kills its ranks before its lease expires.
//
// Owned by the coordinator; used only on the engine thread. The limits are program_limits.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/core/api/program_views.hpp"
#include "server/core/programs/placer.hpp"

namespace muster::core::programs {

class controller {
 public:
  /// `last` is the last assigned id, shared with other controllers. Both references must outlive
  /// this object.
  controller(program_limits limits, std::uint64_t& last, ledger& resources)
      : limits_(limits), last_(last), ledger_(resources) {}

  /// Fails with INVALID_ARGUMENT (with the field) or RESOURCE_EXHAUSTED. REQUIRES: the blob of the
  /// upload is present.
  result<program_reply> submit(time_point now, program_spec spec);
  /// Fails with NOT_FOUND if there is no such program, or with FAILED_PRECONDITION if its state
  /// does not allow the change.
  status wish(time_point now, change_program const& what);

  /// Restores programs. REQUIRES: no other member was called.
  void restore(time_point now, std::vector<restored_program>& all);
  /// Handles the arrival of a worker that runs programs. Returns the indices into `offer.held` of
  /// the ranks that the worker keeps. Orders to the worker must follow the welcome message.
  std::vector<std::uint32_t> attached(time_point now, arrival const& who,
                                      programs_offer const& offer);
  /// Handles a stream that has ended, or that no longer belongs to the worker.
  void worker_disconnected(time_point now, stream_id stream);
  void reports(time_point now, rank_reports const& r);

  /// Returns the uploads of unfinished programs, and whether each is known to be present.
  std::map<std::string, bool> uploads() const;
  /// Records which uploads are present. Programs wait while their upload is missing.
  void uploads_present(std::span<std::string const> there);

  /// Records a failure. Ignored while the attempt is being stopped.
  void coordination_failed(core::coordination_failed const& e);
  /// Records a hang or its end, and applies the `on_hang` policy. Ignored for an earlier attempt.
  void hangs(time_point now, program_hangs const& e);

  void steps_reported(time_point now, program_steps_reported const& e);

  void tick(time_point now);
  /// Starts waiting programs. REQUIRES: this is the last call of a step.
  void place(time_point now) {
    if (!out_.changes.empty()) placer_.drop_ended();
    placer_.place(now);
  }
  time_point due() const;
  output const& pending_output() const { return out_; }
  void begin_step() { out_.clear(); }
  /// Returns this step's changes as facts. REQUIRES: place() was called in this step.
  std::vector<fact> facts() const;
  /// Returns facts that remove all programs, for a deleted cluster.
  std::vector<fact> forget_all() const;

  bool knows(program_id id) const { return table_.find(id) != nullptr; }
  // Functions that return views. NOT_FOUND errors contain the id. The caller sets `cluster`.
  result<program_view> find(program_id id) const;
  result<std::vector<rank_view>> ranks(program_id id) const;
  /// Returns whether the program has ended or its ranks have been asked to end.
  bool ends(program_id id) const;
  result<std::vector<program_attempt_view>> attempts_of(program_id id) const;
  /// Returns the newest programs with ids below `before`; 0 means no limit. `text` is searched for
  /// in the id and, ignoring case, in the name.
  std::vector<program_view> list(program_id before, std::size_t limit,
                                 std::optional<program_state> state,
                                 std::string_view text = {}) const;
  /// Returns the unfinished programs, ordered by state, then the newest finished programs.
  std::vector<program_row> rows(std::size_t limit) const;
  /// Returns the first waiting programs in the order in which the server tries to start them.
  waiting_programs_view waiting(time_point now) const;
  /// Returns failed programs, newest failure first.
  std::vector<program_view> failed_since(time_point since, std::size_t limit) const;
  bool has_key(std::string const& submitted_by, std::string const& key) const {
    return table_.with_key(submitted_by, key) != nullptr;
  }
  program_counts counts() const;
  std::size_t unfinished() const { return table_.all().size() - table_.ended().size(); }
  struct unfinished_programs {
    std::uint64_t programs = 0, ranks = 0;
  };
  unfinished_programs unfinished_of(std::string_view submitter) const;
  /// Returns whether the worker with this tunnel key runs a rank of the attempt, or may still run a
  /// rank.
  bool admits(program_id id, std::uint32_t attempt, std::string_view tunnel_key) const;
  /// Returns the stream of the rank's worker, or nothing while the worker is disconnected. Fails
  /// with NOT_FOUND; the message states what is known about the attempt.
  result<stream_id> worker_of(rank_name const& rank) const;
  /// Returns the task, such as "worker:3", or an empty string if it is unknown.
  std::string task_of(rank_name const& rank) const;

  /// Returns the first violated invariant, or an empty string. Must be called between two steps.
  std::string invalid() const;

 private:
  /// A living rank on a host. The program is null if there is no such rank.
  struct found {
    program* of = nullptr;
    std::uint32_t rank = 0;
  };
  found alive_on(host const& h, rank_name const& name);
  void started(time_point now, host const& h, rank_reports::start const& s);
  void report_end(time_point now, host& h, rank_end const& end);
  void absent(time_point now, host_number n, std::vector<rank_name> const& held);
  result<seat> seat_of(rank_name const& rank) const;
  std::string waits_for(program const& p) const;
  /// Returns whether a pending program could not start even if all connected workers were idle.
  bool cannot_start(program const& p) const;
  /// Returns the disconnected workers with ranks, in rank order.
  std::vector<lost_worker_view> lost_workers(program const& p) const;
  program_view view_of(program const& p) const;
  program_row row_of(program const& p) const;

  program_limits const limits_;
  std::uint64_t& last_;
  ledger& ledger_;
  output out_;
  host_table hosts_;
  port_table ports_{limits_.port_rest};
  program_table table_{limits_};
  attempts attempts_{limits_, hosts_, ports_, ledger_, out_};
  program_alarms alarms_;
  course course_{table_, attempts_, alarms_, out_};
  placer placer_{limits_, table_, hosts_, attempts_, course_, ledger_, out_};
};

/// Checks a specification. Error messages contain the limits.
status valid(program_spec const& spec, program_limits const& limits);

}  // namespace muster::core::programs
