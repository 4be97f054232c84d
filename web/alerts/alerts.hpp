// Alerts. Each alert describes a problem that a person must solve, and exists as long as its cause
// exists. Normal events, such as a drained worker or a requeued closure, raise no alert. Rules are
// pure functions of facts that were copied from the engine.
//
// Each list of facts has a limit (`…_max`), and the text of an alert contains at most three names.
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
  std::string rule{};     ///< rule name such as "task-lost"
  std::string subject{};  ///< name that identifies the alert together with `rule`
  alert_severity severity = alert_severity::error;
  std::string title{};
  std::string detail{};      ///< cause of the problem; empty if unknown
  core::time_point since{};  ///< start of the problem; `never` if unknown
  std::uint64_t count = 1;   ///< number of objects that the title counts
  std::string link{};
  std::string command{};  ///< command that shows more or fixes the problem; can be empty
};

struct stuck_barrier {
  std::string cluster;
  coordination::barrier_view view;
};

struct troubled_program {
  core::program_id id{};
  std::string name, text;
  core::time_point since{};
  bool sure = true;  ///< if false, the program may recover without help
};

/// A machine whose memory has been nearly full for a while.
struct short_machine {
  std::string task;  ///< task name; empty for the server's machine
  core::time_point since{};
  machine seen;
};

struct pool_facts {
  static constexpr std::size_t tasks_max = 200;
  static constexpr std::size_t failed_jobs_max = 20, failed_sessions_max = 3;
  static constexpr std::size_t functions_max = 50;
  static constexpr std::size_t programs_max = 20;
  /// Programs that start within this time raise no alert.
  static constexpr core::duration program_waits_after = std::chrono::seconds(30);

  std::string cluster;  ///< empty for the main cluster
  core::overview_view overview;
  std::vector<core::function_view> unserved;  ///< functions with queued closures but no worker
  std::vector<core::task_view> lost, late;
  history::failed_jobs failed;  ///< jobs that failed during the last hour
  history::failed_sessions failed_sessions;
  /// Start of the time in which closures have been waiting without any worker.
  core::time_point waits_since = core::never;
  core::unmet_demand_view unmet_demand;
  core::gangs_view gangs;
  std::vector<troubled_program> failed_programs, waiting_programs;
  std::vector<troubled_program> hung_programs;   ///< oldest first
  std::uint64_t closures = 0, closures_max = 0;  ///< including finished closures
  core::time_point disk_fails_since = core::never;
  std::vector<short_machine> short_of_memory;
  static constexpr std::size_t failing_builds_max = 50;
  std::vector<core::failing_build_view> failing_builds;
};

struct agents_facts {
  static constexpr std::size_t agents_max = 200;
  static constexpr std::size_t barriers_max = 20;

  coordination::cluster_view view;
  /// Agents that are missing, late or in error; at most agents_max.
  std::vector<coordination::agent_view> troubled;
  std::vector<stuck_barrier> stuck;
  coordination::unreachable_tasks unheard;
};

struct journal_stats {
  core::time_point failed_since = core::never;
  std::string failure;
  core::time_point full_since = core::never;
  std::string full;  ///< full directory and its free space
};

struct alert_facts {
  core::time_point now{};
  core::duration late_after{};
  std::string worker_address;  ///< "HOST:PORT" for `muster worker`; empty if unknown
  journal_stats journal;
  std::vector<pool_facts> pools;
  std::vector<agents_facts> agents;
  /// Tokens exist, but the server does not require them until it is restarted.
  bool tokens_ignored = false;
};

/// Returns the key of the alert, which is also the name of its row in the topic.
std::string key_of(alert const& i);
void members(member_list const& m, alert const& i);

std::vector<alert> alerts_of(alert_facts const& f);

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
void journal_fails(journal_stats const& j, alerts& out);
void disk_full(journal_stats const& j, alerts& out);
void tokens_ignored(alert_facts const& f, alerts& out);
void failed_run(agents_facts const& a, alerts& out);
void missing_agents(agents_facts const& a, alert_facts const& f, alerts& out);
void agents_in_error(agents_facts const& a, alerts& out);
void late_agents(agents_facts const& a, alert_facts const& f, alerts& out);
void stuck_barriers(agents_facts const& a, alerts& out);
void unheard_notices(agents_facts const& a, alerts& out);

}  // namespace muster::web
