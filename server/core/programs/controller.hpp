// Whole programs: a table of them, and the way of each from its submission over its attempts to its
// end, as a value: what happens goes in, orders and changes come out. The coordinator calls it
// within its steps and carries on what it says.
//
//   submit, wish ─────────────┐                          ┌──► orders to workers (api/ranks.hpp)
//   attached, away, reports ──┼──► course ──► attempts ──┤
//   tick (leases, deadlines) ─┘      ▲                   └──► changes
//                                    └──── placer, at the end of the step
//
// Fence: the next attempt begins only when every rank of the one before is known to be dead: its
// worker has said so or has come back without it, or its worker's lease has run out, by then the
// worker has killed it.
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
  /// `last`: the last id that was given, also by others. Both references outlive it.
  controller(program_limits limits, std::uint64_t& last, ledger& resources)
      : limits_(limits), last_(last), ledger_(resources) {}

  /// REQUIRES: the blob that is its upload is there. Errors: INVALID_ARGUMENT with the field,
  /// RESOURCE_EXHAUSTED.
  result<program_reply> submit(time_point now, program_spec spec);
  /// Errors: NOT_FOUND, FAILED_PRECONDITION.
  status wish(time_point now, change_program const& what);

  /// Programs of an earlier process of this server. REQUIRES: before all else.
  void restore(time_point now, std::vector<restored_program>& all);
  /// A worker with an offer is there; positions of what it holds and keeps. Orders for it follow
  /// its welcome.
  std::vector<std::uint32_t> attached(time_point now, arrival const& who,
                                      programs_offer const& offer);
  /// The stream has ended, or is not the worker's any more.
  void away(time_point now, stream_id stream);
  void reports(time_point now, rank_reports const& r);

  /// The blobs that programs which have not ended name as their upload, and whether each is known
  /// to be there.
  std::map<std::string, bool> uploads() const;
  /// Of those, these are there; programs without theirs wait.
  void uploads_seen(std::span<std::string const> there);

  /// Stands in the cause when the attempt fails; nothing of one that is being stopped.
  void coordination_failed(core::coordination_failed const& e);
  /// Keeps the hang, or that it is over, and does what the program's `on_hang` asks for. Ignored
  /// for another attempt than the last.
  void hangs(time_point now, program_hangs const& e);

  void steps_said(time_point now, program_steps_said const& e);

  /// Leases, deadlines.
  void tick(time_point now);
  /// The last call of a step.
  void place(time_point now) {
    if (!out_.changes.empty()) placer_.drop_ended();
    placer_.place(now);
  }
  time_point due() const;
  output const& said() const { return out_; }
  void begin_step() { out_.clear(); }
  /// What this step has changed, to be written down. REQUIRES: after place().
  std::vector<fact> facts() const;
  /// For one that goes with all its programs.
  std::vector<fact> forget_all() const;

  bool knows(program_id id) const { return table_.find(id) != nullptr; }
  // Views; NOT_FOUND names the id. `cluster` is set by who asks.
  result<program_view> look(program_id id) const;
  result<std::vector<rank_view>> ranks(program_id id) const;
  /// Its ranks are asked to end, or it has ended.
  bool ends(program_id id) const;
  result<std::vector<program_attempt_view>> attempts_of(program_id id) const;
  /// The newest first, ids below `before` (0: from the newest), of a state or of all.
  /// `text`: in the name, whatever the case, or in the id; empty: all.
  std::vector<program_view> list(program_id before, std::size_t limit,
                                 std::optional<program_state> state,
                                 std::string_view text = {}) const;
  /// Those that go on, by state in the order of states, then the newest of those that have ended.
  std::vector<program_row> rows(std::size_t limit) const;
  /// Those that failed after `since`, the last one first.
  std::vector<program_view> failed_since(time_point since, std::size_t limit) const;
  /// A submission with this key would get a program that is known.
  bool has_key(std::string const& submitted_by, std::string const& key) const {
    return table_.with_key(submitted_by, key) != nullptr;
  }
  program_counts counts() const;
  std::size_t unfinished() const { return table_.all().size() - table_.ended().size(); }
  struct unfinished_programs {
    std::uint64_t programs = 0, ranks = 0;
  };
  /// Counts the programs of a submitter that have not ended, and the ranks that they ask for.
  unfinished_programs unfinished_of(std::string_view submitter) const;
  /// The worker of this tunnel key has a rank of the attempt that is not known to be dead.
  bool admits(program_id id, std::uint32_t attempt, std::string_view tunnel_key) const;
  /// The stream of the worker that has or had a rank of an attempt; none: it is away. Errors:
  /// NOT_FOUND, which says what is known of the attempt.
  result<stream_id> worker_of(rank_name const& rank) const;
  /// "worker:3"; empty: not known.
  std::string task_of(rank_name const& rank) const;

  /// Empty when all is in order between two steps.
  std::string invalid() const;

 private:
  /// The rank of the attempt of now, when it is alive there.
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
  /// Returns whether a pending program cannot start with the connected workers, even idle ones.
  bool cannot_start(program const& p) const;
  /// With ranks of the attempt, in the order of these.
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

/// What is wrong with it. `limits` stand in the texts.
status valid(program_spec const& spec, program_limits const& limits);

}  // namespace muster::core::programs
