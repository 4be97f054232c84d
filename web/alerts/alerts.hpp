// What needs a person: one item for one cause, each with since when it lasts and where to look. An
// item is there for as long as its cause is; what is over, or normal (a worker that was drained, a
// closure that was requeued and ran elsewhere), is none. Rules are pure functions of facts that
// were copied from the engine; any thread.
//
// Bounded: no list of facts has more than its _max, and rules name at most three of many.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/machine.hpp"
#include "server/core/api/waiting_views.hpp"
#include "server/core/coordination/api/coordination_views.hpp"
#include "server/history/jobs/job_pages.hpp"
#include "web/json/members.hpp"

namespace muster::web {

namespace coordination = core::coordination;

enum class alert_severity : std::uint8_t { error, warning };

struct alert {
  std::string rule{};     ///< "task-lost"
  std::string subject{};  ///< tells items of one rule apart; with it the name of a row
  alert_severity severity = alert_severity::error;
  std::string title{};       ///< what is wrong
  std::string detail{};      ///< the cause, as far as it is known
  core::time_point since{};  ///< never: nobody knows
  std::uint64_t count = 1;   ///< of what the title is about
  std::string link{};        ///< of the page: a path with its query
  std::string command{};     ///< that helps, or tells more; may be empty
};

/// A barrier that waits for somebody.
struct stuck_barrier {
  std::string cluster;
  coordination::barrier_view view;  ///< with who is missing
};

/// A program that failed, waits or hangs: since when, and why.
struct troubled_program {
  core::program_id id{};
  std::string name, text;
  core::time_point since{};
  bool sure = true;  ///< false: it may start, or go on, without help
};

/// A machine whose memory is nearly in use for a while.
struct short_machine {
  std::string task;  ///< none: the server's
  core::time_point since{};
  machine seen;
};

/// What the rules look at, of one cluster's closures and programs.
struct pool_facts {
  static constexpr std::size_t tasks_max = 200;
  static constexpr std::size_t failed_jobs_max = 20, failed_sessions_max = 3;
  static constexpr std::size_t functions_max = 50;
  static constexpr std::size_t programs_max = 20;
  /// Programs that start sooner needed nobody.
  static constexpr core::duration program_waits_after = std::chrono::seconds(30);

  std::string cluster;  ///< empty: the main one
  core::overview_view overview;
  std::vector<core::function_view> unserved;   ///< have closures queued, no worker has them
  std::vector<core::task_view> lost, late;     ///< the first tasks_max
  history::failed_jobs failed;                 ///< of the last hour
  history::failed_sessions failed_sessions;    ///< the same
  core::time_point waits_since = core::never;  ///< something has, for a worker
  core::unmet_demand_view unmet_demand;
  core::gangs_view gangs;
  std::vector<troubled_program> failed_programs, waiting_programs;  ///< the newest first
  std::vector<troubled_program> hung_programs;                      ///< the first first
  std::uint64_t closures = 0, closures_max = 0;  ///< that the server keeps, finished ones included
  core::time_point disk_fails_since = core::never;
  std::vector<short_machine> short_of_memory;  ///< the first tasks_max
  static constexpr std::size_t failing_builds_max = 50;
  std::vector<core::failing_build_view> failing_builds;
};

/// The same of its agents.
struct agents_facts {
  static constexpr std::size_t agents_max = 200;
  static constexpr std::size_t barriers_max = 20;

  coordination::cluster_view view;
  std::vector<coordination::agent_view> troubled;  ///< missing, late or in error; the first
  std::vector<stuck_barrier> stuck;
  coordination::unheard_notices unheard;
};

/// What is written to --data-dir or --store.
struct journal_facts {
  core::time_point failed_since = core::never;
  std::string failure;
  core::time_point full_since = core::never;
  std::string full;  ///< where, and how much is free
};

struct alert_facts {
  core::time_point now{};
  core::duration late_after{};
  std::string worker_address;  ///< "HOST:PORT" for the command that starts a worker; may be empty
  journal_facts journal;       ///< of the server
  std::vector<pool_facts> pools;
  std::vector<agents_facts> agents;
  /// Tokens exist, and the server requires them only after it has been restarted.
  bool tokens_ignored = false;
};

/// Tells items apart: rows of the topic are named so.
std::string key_of(alert const& i);
void members(member_list const& m, alert const& i);

/// Errors first, and of them what has lasted longest.
std::vector<alert> alerts_of(alert_facts const& f);

// The rules, one for one kind of cause.
using alerts = std::vector<alert>;
void lost_tasks(pool_facts const& p, alerts& out);
void late_tasks(pool_facts const& p, alert_facts const& f, alerts& out);
void failed_jobs(pool_facts const& p, alerts& out);
void failed_sessions(pool_facts const& p, alerts& out);
void failed_programs(pool_facts const& p, alerts& out);
void waiting_programs(pool_facts const& p, alert_facts const& f, alerts& out);
void hung_programs(pool_facts const& p, alerts& out);
void without_worker(pool_facts const& p, alert_facts const& f, alerts& out);
void unmet_demands(pool_facts const& p, alerts& out);
void impossible_gangs(pool_facts const& p, alerts& out);
void nothing_finishes(pool_facts const& p, alerts& out);
void closures_exclusive(pool_facts const& p, alerts& out);
void failing_builds(pool_facts const& p, alerts& out);
void nearly_full(pool_facts const& p, alerts& out);
void disk_fails(pool_facts const& p, alerts& out);
void short_of_memory(pool_facts const& p, alerts& out);
void journal_fails(journal_facts const& j, alerts& out);
void disk_full(journal_facts const& j, alerts& out);
void tokens_ignored(alert_facts const& f, alerts& out);
void failed_run(agents_facts const& a, alerts& out);
void missing_agents(agents_facts const& a, alert_facts const& f, alerts& out);
void agents_in_error(agents_facts const& a, alerts& out);
void late_agents(agents_facts const& a, alert_facts const& f, alerts& out);
void stuck_barriers(agents_facts const& a, alerts& out);
void unheard_notices(agents_facts const& a, alerts& out);

}  // namespace muster::web
