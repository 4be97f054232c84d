// The task registry: one row per task, with its current worker and the time of its last message.
// States:
//
//              attach                    silent > late_after
//   (no row) ─────────► CONNECTED ◄───────────────────────────► LATE
//                        │  │  any message                        │ silent > heartbeat_timeout
//            deregisters │  │ stream broke                        ▼
//          DISCONNECTED ◄┘  └─────────────────────────────────► ERROR
//
// A row in DISCONNECTED or ERROR is kept for task_retention. A worker that attaches with the same
// incarnation or index takes the row over. A heartbeat only stores a time. Instead of one timer per
// worker, a sweep over all rows expires tasks; it runs at the earliest time at which a row can
// change.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "server/core/api/changes.hpp"
#include "server/core/api/config.hpp"
#include "server/core/api/model.hpp"
#include "server/core/api/server_wide.hpp"
#include "server/core/workers/connected_worker.hpp"

namespace muster::core {

struct task_row {
  std::uint32_t row = 0;
  std::string job;
  std::int64_t index = 0;
  task_state state = task_state::connected;
  time_point since{};
  time_point last_seen{};
  worker_spec spec;
  std::vector<function_id> functions;
  core::worker* worker = nullptr;
  std::uint64_t finished = 0;
  std::uint64_t failed = 0;
  std::uint64_t restarts = 0;
  std::uint64_t reconnects = 0;  // reconnections of the same incarnation before it was lost
  std::string error;
  time_point lost_since = never;    // when the task was lost; set in ERROR
  bool given_up = false;            // lost for longer than recovery_timeout
  bool cordoned = false;            // accepts no new closures, regardless of its worker
  bool awaits_replacement = false;  // the process ended; the worker program starts another process
  /// Closures blamed for the last broken connection until the same incarnation reconnects. Bounded
  /// by the worker's slots.
  std::vector<closure_id> suspects;
  struct index_claim {
    core::incarnation by{};
    time_point at{};
    bool was_answered = false;  // a later message from the task's worker has arrived
  };
  /// Processes on other hosts that wait for this index, oldest first.
  std::vector<index_claim> claims;
  /// Maximum number of claims. A further claim replaces the oldest.
  static constexpr std::size_t claims_max = 16;

  void add_claim(time_point now, core::incarnation by) {
    auto const same = [by](index_claim const& c) { return c.by == by; };
    if (std::any_of(claims.begin(), claims.end(), same)) return;
    if (claims.size() == claims_max) claims.erase(claims.begin());
    claims.push_back({by, now});
  }
  void answer_claims(time_point now) {
    for (auto& c : claims) c.was_answered |= now > c.at;
  }
  /// Returns whether the task's worker has sent a message since this process requested the index.
  bool is_alive_since_claim(core::incarnation by) const {
    return std::any_of(claims.begin(), claims.end(),
                       [by](index_claim const& c) { return c.by == by && c.was_answered; });
  }
  std::string name() const { return job + ":" + std::to_string(index); }
  bool present() const { return state == task_state::connected || state == task_state::late; }
};

inline bool worker::serves() const {
  return !draining && !away && !task->cordoned;
}

class task_rows {
 public:
  task_rows(config const& c, server_wide& wide, changes& out)
      : config_(c), wide_(wide), changes_(out) {}

  using reckoned = std::function<std::int64_t(std::string const& job)>;
  /// Returns the row for a worker that attaches. The first rule that applies decides:
  /// - its explicit index
  /// - the row of its incarnation
  /// - the row of the incarnation that it replaces
  /// - its index on another server, if that task is not present and the index is expected
  /// - the lowest index of a lost worker program on its host
  /// - the lowest free index
  ///
  /// A lost task's index is free if it is below the expected number of tasks, because no expected
  /// index may stay vacant. An index is not free while the task's worker program serves other tasks
  /// or is about to replace the task's process.
  /// @return the row, or RESOURCE_EXHAUSTED if all tasks_max rows belong to present tasks.
  result<task_row*> admit(time_point now, worker_spec const& spec, reckoned const& with);
  /// REQUIRES: admit() returned the row.
  void arrived(time_point now, task_row& t, worker_spec spec);
  void left(time_point now, task_row& t, task_state state, std::string why);
  /// Reserves the row for the next process of the same worker program.
  void expect_replacement(task_row& t) { t.awaits_replacement = t.spec.group != 0; }
  /// Called after a broken connection. REQUIRES: the task is present.
  void set_late(time_point now, task_row& t) { set(now, t, task_state::late); }
  void seen(time_point now, task_row& t) {
    t.last_seen = now;
    t.answer_claims(now);
    if (t.state == task_state::late) set(now, t, task_state::connected);
  }

  struct sweep_result {
    std::vector<task_row*> silent;    // attached tasks that the caller must treat as lost
    std::vector<task_row*> given_up;  // tasks whose recovery timeout has just elapsed
    bool forgot = false;
  };
  /// @param stalled pause of the server itself, which does not count as silence.
  /// @param awaited returns whether a lost task's row is kept until the task is given up.
  sweep_result sweep(time_point now, duration stalled,
                     std::function<bool(task_row const&)> const& awaited);
  time_point next_sweep() const { return next_sweep_; }
  void give_up(task_row& t) {
    t.given_up = true, ++given_up_;
    report_change(t);
  }
  void cordon(task_row& t, bool on) {
    t.cordoned = on;
    report_change(t);
  }
  std::uint32_t given_up() const { return given_up_; }

  /// Returns the job's number of tasks, whether or not they are present: the maximum of
  /// config::declared_jobs, the highest index plus one, and the known tasks plus the announced
  /// tasks (worker_spec::group_size) of present worker programs.
  std::uint32_t tasks_of(std::string const& job) const;
  /// Returns 0 if the job is not declared.
  std::uint32_t declared(std::string_view job) const;
  /// Returns a version that changes whenever the result of tasks_of may have changed.
  std::uint64_t version() const { return version_; }

  task_row* find(std::string_view job, std::int64_t index);
  task_row const* find(std::string_view job, std::int64_t index) const;

  using key = std::pair<std::string, std::int64_t>;
  std::map<key, std::unique_ptr<task_row>> const& rows() const { return rows_; }
  std::uint32_t count(task_state s) const { return counts_[static_cast<std::size_t>(s)]; }

  std::size_t jobs_counted() const { return tallies_.size(); }

  std::string invalid() const;

 private:
  /// Tasks of one worker program in one job that have no explicit index.
  struct worker_group {
    std::uint32_t size = 0;
    std::uint32_t rows = 0;
    std::uint32_t present = 0;

    std::uint32_t missing() const { return present > 0 && size > rows ? size - rows : 0; }
  };
  /// Counts of one job. Each job and group has at least one row.
  struct job_tally {
    std::uint32_t rows = 0;
    std::int64_t free_hint = 0;  // every lower index is in use
    std::uint32_t occupied = 0;
    std::uint32_t missing = 0;
    std::map<std::uint64_t, worker_group> groups;
  };
  using tallies = std::unordered_map<std::string, job_tally>;
  static void add_to(tallies& all, task_row const& t);
  /// Must be called before the row's state or specification changes.
  void uncount(task_row const& t);
  void recount(task_row const& t);
  void shrink_group(task_row const& left);
  task_row* find(std::string_view job, core::incarnation process);
  bool has_present_siblings(task_row const& t) const;
  void set(time_point now, task_row& t, task_state s);
  void report_change(task_row const& t, bool gone = false);
  void erase(task_row& t);
  void forget_incarnation(task_row const& t);
  bool make_room();
  std::int64_t lowest_free(std::string const& job);
  task_row const* lost_before(worker_spec const& spec) const;
  std::int64_t next_index(worker_spec const& spec, reckoned const& with);

  config const& config_;
  server_wide& wide_;
  changes& changes_;
  std::map<key, std::unique_ptr<task_row>> rows_;
  std::unordered_map<core::incarnation, task_row*> by_incarnation_;
  tallies tallies_;
  std::uint32_t counts_[4] = {};
  time_point next_sweep_ = never;
  std::uint32_t given_up_ = 0;
  bool forgot_ = false;
  std::uint64_t version_ = 1;
};

}  // namespace muster::core
