// A table of programs, and the course of each from submission over its attempts to its end, as a
// value without I/O: events are the input; orders and changes are the output. The coordinator calls
// it within its steps and executes the output.
//
//   submit, wish ─────────────┐                          ┌──► orders to workers (api/ranks.hpp)
//   attached, away, reports ──┼──► course ──► attempts ──┤
//   tick (leases, deadlines) ─┘      ▲                   └──► changes
//                                    └──── placer, at the end of the step
//
// Fencing: the next attempt begins only when every rank of the previous attempt is known to be
// dead. Either its worker has reported the end, or has returned without the rank, or the worker's
// lease has expired, by which time the worker has killed the rank.
//
// Owned by the coordinator; engine thread only. Limits: program_limits.
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
  /// `last`: the last id that was assigned, possibly by another controller. Both references must
  /// outlive this object.
  controller(program_limits limits, std::uint64_t& last, ledger& resources)
      : limits_(limits), last_(last), ledger_(resources) {}

  /// REQUIRES: the blob of the upload is present. Errors: INVALID_ARGUMENT with the field,
  /// RESOURCE_EXHAUSTED.
  result<program_reply> submit(time_point now, program_spec spec);
  /// Errors: NOT_FOUND, FAILED_PRECONDITION.
  status wish(time_point now, change_program const& what);

  /// Restores the programs from an earlier process. REQUIRES: called before all other members.
  void restore(time_point now, std::vector<restored_program>& all);
  /// Records that a worker that offers to run programs has connected. Returns the indexes of the
  /// held ranks that it keeps. Orders for it must follow the welcome message.
  std::vector<std::uint32_t> attached(time_point now, arrival const& who,
                                      programs_offer const& offer);
  /// Records that the stream has ended or no longer belongs to the worker.
  void worker_disconnected(time_point now, stream_id stream);
  void reports(time_point now, rank_reports const& r);

  /// Returns the uploads of unfinished programs, and whether each is known to be present.
  std::map<std::string, bool> uploads() const;
  /// Records which of these uploads are present. Programs whose upload is missing wait.
  void uploads_present(std::span<std::string const> there);

  /// Records the failure for the cause of a failed attempt. Ignored while the attempt is being
  /// stopped.
  void coordination_failed(core::coordination_failed const& e);
  /// Records a hang or its end, and applies the program's `on_hang` policy. Ignored for an earlier
  /// attempt.
  void hangs(time_point now, program_hangs const& e);

  void steps_reported(time_point now, program_steps_reported const& e);

  /// Handles expired leases and deadlines.
  void tick(time_point now);
  /// Starts waiting programs. REQUIRES: last call of a step.
  void place(time_point now) {
    if (!out_.changes.empty()) placer_.drop_ended();
    placer_.place(now);
  }
  time_point due() const;
  output const& pending_output() const { return out_; }
  void begin_step() { out_.clear(); }
  /// Returns this step's changes as records. REQUIRES: called after place().
  std::vector<fact> facts() const;
  /// Returns the records that remove all programs, for a cluster that is deleted.
  std::vector<fact> forget_all() const;

  bool knows(program_id id) const { return table_.find(id) != nullptr; }
  // Views. NOT_FOUND errors contain the id. The caller sets `cluster`.
  result<program_view> find(program_id id) const;
  result<std::vector<rank_view>> ranks(program_id id) const;
  /// Whether the program has ended or its ranks are asked to end.
  bool ends(program_id id) const;
  result<std::vector<program_attempt_view>> attempts_of(program_id id) const;
  /// Returns the newest programs with ids below `before` (0: all), optionally of one state. `text`
  /// is searched in the name, ignoring case, and in the id; empty: all.
  std::vector<program_view> list(program_id before, std::size_t limit,
                                 std::optional<program_state> state,
                                 std::string_view text = {}) const;
  /// Returns the unfinished programs in the order of their states, then the newest finished
  /// programs.
  std::vector<program_row> rows(std::size_t limit) const;
  /// Returns the programs that failed after `since`, the newest failure first.
  std::vector<program_view> failed_since(time_point since, std::size_t limit) const;
  /// Whether a submission with this key would return a known program.
  bool has_key(std::string const& submitted_by, std::string const& key) const {
    return table_.with_key(submitted_by, key) != nullptr;
  }
  program_counts counts() const;
  std::size_t unfinished() const { return table_.all().size() - table_.ended().size(); }
  struct unfinished_programs {
    std::uint64_t programs = 0, ranks = 0;
  };
  /// Counts the submitter's unfinished programs and the ranks that they request.
  unfinished_programs unfinished_of(std::string_view submitter) const;
  /// Whether the worker with this tunnel key has a rank of the attempt that is not known to be
  /// dead.
  bool admits(program_id id, std::uint32_t attempt, std::string_view tunnel_key) const;
  /// Returns the stream of the worker that has or had the rank, or none while it is disconnected.
  /// Errors: NOT_FOUND, with a message on what is known of the attempt.
  result<stream_id> worker_of(rank_name const& rank) const;
  /// Returns for example "worker:3", or an empty string if unknown.
  std::string task_of(rank_name const& rank) const;

  /// Returns the first violated invariant between two steps, or an empty string.
  std::string invalid() const;

 private:
  /// A living rank of the current attempt on a host, or null.
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
  /// Whether a pending program could not start even if all connected workers were idle.
  bool cannot_start(program const& p) const;
  /// Returns the disconnected workers with ranks of the attempt, in rank order.
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

/// Checks a specification. Error messages name the limits.
status valid(program_spec const& spec, program_limits const& limits);

}  // namespace muster::core::programs
