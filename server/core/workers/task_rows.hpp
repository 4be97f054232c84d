// The registry of tasks: one row each, who holds it now, when it was last heard of.
//
//              attach                    silent > late_after
//   (no row) ─────────► CONNECTED ◄───────────────────────────► LATE
//                        │  │  any message                        │ silent > heartbeat_timeout
//        clean good-bye  │  │ stream broke                        ▼
//          DISCONNECTED ◄┘  └─────────────────────────────────► ERROR
//   Both keep their row for task_retention; attach with the same incarnation or index takes it
//   over.
//
// A heartbeat only stores a time. Expiry is a sweep over all rows at the earliest moment at which
// one of them could change, never a timer a worker.
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
  worker_spec spec;  // of the newest incarnation; functions as declared
  std::vector<function_id> functions;
  core::worker* worker = nullptr;  // attached now
  std::uint64_t finished = 0;
  std::uint64_t failed = 0;
  std::uint64_t restarts = 0;
  std::uint64_t reconnects = 0;  // of the same incarnation in time
  std::string error;
  time_point lost_since = never;    // in ERROR: since then
  bool given_up = false;            // lost for longer than recovery_timeout
  bool cordoned = false;            // nothing new for it, whichever worker serves it
  bool awaits_replacement = false;  // its process was ended, and its worker program starts another
  /// Closures that its last broken connection is blamed for. If the same incarnation comes back,
  /// they did not kill it. At most its slots.
  std::vector<closure_id> suspects;
  struct index_claim {
    core::incarnation by{};
    time_point at{};
    bool was_answered = false;  // by a later message of the task's worker
  };
  /// Processes of other hosts that asked for this index and were told to wait, the oldest first.
  std::vector<index_claim> claims;
  /// One more claim replaces the oldest one.
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
  /// Returns whether the task's worker has sent anything since this process asked for the index.
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
  /// All outlive it. What changes is said in `out`.
  task_rows(config const& c, server_wide& wide, changes& out)
      : config_(c), wide_(wide), changes_(out) {}

  /// How many tasks of a job somebody reckons with by index.
  using reckoned = std::function<std::int64_t(std::string const& job)>;
  /// Returns the row for a worker that attaches. The first rule that applies decides: its explicit
  /// index, the row of its incarnation, the row of the incarnation that it replaces, the index that
  /// it had on another server (unless its task is present or the index is beyond what is reckoned
  /// with), the lowest index of a worker program of its host that is lost, the lowest free index.
  /// The index of a lost task is free if it is below what is reckoned with: there a number must not
  /// stay empty. The index of a task whose worker program still serves other tasks, or awaits a
  /// replacement, is never free. Errors: RESOURCE_EXHAUSTED when every row is of a present task.
  result<task_row*> admit(time_point now, worker_spec const& spec, reckoned const& with);
  /// A worker serves the task: CONNECTED. REQUIRES: admitted.
  void arrived(time_point now, task_row& t, worker_spec spec);
  /// Nobody serves it any more, and it is in this state.
  void left(time_point now, task_row& t, task_state state, std::string why);
  /// The next process of the same worker program takes this row, so no newcomer gets its index.
  void expect_replacement(task_row& t) { t.awaits_replacement = t.spec.group != 0; }
  /// Its connection broke and it may come back: LATE. REQUIRES: present.
  void away(time_point now, task_row& t) { set(now, t, task_state::late); }
  /// Records a message of the task's worker.
  void seen(time_point now, task_row& t) {
    t.last_seen = now;
    t.answer_claims(now);
    if (t.state == task_state::late) set(now, t, task_state::connected);
  }

  struct sweep_result {
    std::vector<task_row*> silent;    // to be lost; still attached
    std::vector<task_row*> given_up;  // lost for longer than the recovery timeout, just now
    bool forgot = false;              // rows were forgotten since the sweep before
  };
  /// Marks late tasks, forgets old dead rows, finds silent ones. `stalled`: our own pause, given
  /// back to every task. `awaited`: keeps the row of a lost task until it is given up.
  sweep_result sweep(time_point now, duration stalled,
                     std::function<bool(task_row const&)> const& awaited);
  /// When `sweep` is wanted.
  time_point next_sweep() const { return next_sweep_; }
  /// The row of a lost task, from now on given up until it arrives again.
  void give_up(task_row& t) {
    t.given_up = true, ++given_up_;
    tell(t);
  }
  /// Nothing new goes to it, whichever worker serves it; or something may again.
  void cordon(task_row& t, bool on) {
    t.cordoned = on;
    tell(t);
  }
  /// Rows that are given up.
  std::uint32_t given_up() const { return given_up_; }

  /// Returns how many tasks the job has, whoever is present: the largest of config::declared_jobs,
  /// the highest index of a row plus one, and the tasks that are known or that the worker programs
  /// of present tasks have announced (worker_spec::group_size).
  std::uint32_t tasks_of(std::string const& job) const;
  /// How many tasks the configuration says that the job has; 0: nothing.
  std::uint32_t declared(std::string_view job) const;
  /// Another one: tasks_of may have changed.
  std::uint64_t version() const { return version_; }

  task_row* find(std::string_view job, std::int64_t index);
  task_row const* find(std::string_view job, std::int64_t index) const;

  using key = std::pair<std::string, std::int64_t>;
  std::map<key, std::unique_ptr<task_row>> const& rows() const { return rows_; }
  std::uint32_t count(task_state s) const { return counts_[static_cast<std::size_t>(s)]; }

  /// Returns how many jobs have rows.
  std::size_t jobs_counted() const { return tallies_.size(); }

  /// Returns what is inconsistent; empty between two steps.
  std::string invalid() const;

 private:
  /// The tasks of one worker program in one job. Its rows have no explicit index.
  struct worker_group {
    std::uint32_t size = 0;  // as announced
    std::uint32_t rows = 0;
    std::uint32_t present = 0;

    /// Returns how many of its tasks are still to attach.
    std::uint32_t missing() const { return present > 0 && size > rows ? size - rows : 0; }
  };
  /// What tasks_of adds up for one job. Limit: a job and a group have at least one row each.
  struct job_tally {
    std::uint32_t rows = 0;
    std::int64_t free_hint = 0;  // every lower index has a present task
    std::uint32_t occupied = 0;  // rows whose index is not free
    std::uint32_t missing = 0;   // of all groups
    std::map<std::uint64_t, worker_group> groups;
  };
  using tallies = std::unordered_map<std::string, job_tally>;
  static void add_to(tallies& all, task_row const& t);
  /// Takes the row out of its job's tally, before its state or its specification changes.
  void uncount(task_row const& t);
  void recount(task_row const& t);
  void shrink_group(task_row const& left);
  task_row* find(std::string_view job, core::incarnation process);
  bool has_present_siblings(task_row const& t) const;
  void set(time_point now, task_row& t, task_state s);
  void tell(task_row const& t, bool gone = false);
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
  std::uint64_t version_ = 1;  // counts changes of what tasks_of may answer
};

}  // namespace muster::core
