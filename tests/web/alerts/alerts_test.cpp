#include "web/alerts/alerts.hpp"

#include <gtest/gtest.h>

#include "web/alerts/words.hpp"

namespace muster::web {
namespace alert_cases {

using namespace std::chrono_literals;
using coordination::agent_health;

core::time_point const now{std::chrono::hours(490'000)};

core::task_view task(std::int64_t index, std::string error = {}, std::string host = {}) {
  core::task_view t;
  t.job = "worker";
  t.index = index;
  t.since = now - std::chrono::seconds(60 + index);
  t.error = std::move(error);
  t.host = std::move(host);
  return t;
}

struct alert_rules : testing::Test {
  alert_rules() {
    facts.now = now;
    facts.late_after = 8s;
    facts.pools.resize(1);
    facts.agents.resize(1);
    auto& spec = facts.agents[0].view.spec;
    spec.name = "train";
    spec.jobs = {{"worker", 8}};
    spec.stuck_after = 10s;
    facts.agents[0].view.generation.state = coordination::generation_state::running;
  }
  /// Returns all alerts as "rule: title".
  std::vector<std::string> said() const {
    std::vector<std::string> texts;
    for (auto const& i : alerts_of(facts)) texts.push_back(i.rule + ": " + i.title);
    return texts;
  }
  alert only() const {
    auto const items = alerts_of(facts);
    EXPECT_EQ(items.size(), 1u);
    return items.empty() ? alert{} : items[0];
  }
  std::size_t& agents_in(agent_health h) {
    return facts.agents[0].view.generation.by_health[static_cast<std::size_t>(h)];
  }
  coordination::agent_view agent(std::uint32_t index, agent_health h) {
    coordination::agent_view a;
    a.job = "worker";
    a.index = index;
    a.health = h;
    a.last_heartbeat = now - 20s;
    return a;
  }
  pool_facts& pool() { return facts.pools[0]; }
  alert_facts facts;
};

TEST_F(alert_rules, healthy_server_has_no_alerts) {
  pool().overview.tasks_connected = 3;
  pool().overview.closures.queued = 9;
  pool().overview.requeued = 12;
  pool().overview.values_aborted = 3;
  pool().overview.tasks_disconnected = 2;
  EXPECT_TRUE(said().empty()) << "finished or drained workers need no action";
}

TEST_F(alert_rules, one_lost_worker_is_named_with_its_cause_and_link) {
  pool().overview.tasks_error = 1;
  pool().lost = {task(3, "no heartbeat for 15 s", "node-a")};
  auto const i = only();
  EXPECT_EQ(i.rule, "worker-lost");
  EXPECT_EQ(i.title, "worker:3 is lost");
  EXPECT_EQ(i.detail, "no heartbeat for 15 s; on node-a");
  EXPECT_EQ(i.since, now - 63s);
  EXPECT_EQ(i.link, "/workers/worker:3");
}

TEST_F(alert_rules, many_lost_workers_are_one_alert_with_their_common_cause) {
  pool().cluster = "two";
  pool().overview.tasks_error = 1'200;
  for (int n = 0; n < 5; ++n) pool().lost.push_back(task(n, "connection reset", "rack-7"));
  pool().lost[2].host = "rack-8";
  auto const i = only();
  EXPECT_EQ(i.title, "1,200 workers are lost");
  EXPECT_EQ(i.detail,
            "worker:0, worker:1, worker:2 and 1197 more; connection reset; most of them on rack-7");
  EXPECT_EQ(i.since, now - 64s) << "the first of them";
  EXPECT_EQ(i.link, "/tasks?state=ERROR&cluster=two");
  EXPECT_EQ(i.count, 1'200u);
}

TEST_F(alert_rules, late_worker_is_a_warning_listed_after_errors) {
  pool().overview.tasks_late = 1;
  pool().late = {task(0)};
  pool().overview.tasks_error = 1;
  pool().lost = {task(1)};
  auto const items = alerts_of(facts);
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[1].rule, "worker-late");
  EXPECT_EQ(items[1].severity, alert_severity::warning);
  EXPECT_EQ(items[1].detail, "no heartbeat for more than 8.0 s");
}

TEST_F(alert_rules, builder_that_loses_workers_is_one_alert_per_value) {
  pool().failing_builds = {
      {core::per_worker_id{1}, "model", "f", "worker:0", 3, "quarantined: killed", now - 5s},
      {core::per_worker_id{1}, "model", "f", "worker:1", 4, "quarantined: killed", now - 9s},
      {core::per_worker_id{2}, "", "f", "worker:0", 3, "quarantined: killed", now - 1s}};
  auto const items = alerts_of(facts);
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[0].rule, "builder-quarantined");
  EXPECT_EQ(items[0].title, "The builder of per-worker value model has lost 7 workers");
  EXPECT_EQ(items[0].detail,
            "worker:0: quarantined: killed; the worker will build the value again after a pause");
  EXPECT_EQ(items[0].since, now - 9s);
  EXPECT_EQ(items[0].count, 7u);
  EXPECT_EQ(items[0].link, "/per-worker");
  EXPECT_EQ(items[1].title,
            "The builder of per-worker value pw_0000000000000002 has lost 3 workers");
}

core::job_view failed_job(std::uint64_t id, core::time_point at) {
  core::job_view j;
  j.id = core::session_id{id};
  j.name = "night";
  j.finished = at;
  j.counts.failed = 2;
  j.error = core::failure{core::failure_kind::user, "", "no such file", "", "", 1};
  j.retryable = true;
  return j;
}

TEST_F(alert_rules, failed_jobs_are_named_or_counted) {
  pool().failed.newest = {failed_job(9, now - 5s)};
  pool().failed.count = 1;
  auto const one = only();
  EXPECT_EQ(one.title, "Job night failed");
  EXPECT_EQ(one.detail, "no such file");
  EXPECT_EQ(one.link, "/jobs/job_0000000000000009?state=ENDED_BADLY");
  EXPECT_EQ(one.command, "muster retry job_0000000000000009");
  pool().failed.newest.front().error->kind = core::failure_kind::input;
  EXPECT_EQ(only().command, "muster explain job_0000000000000009") << "a retry would fail as well";
  pool().failed.newest = {failed_job(9, now - 5s)};
  pool().failed.newest.front().retryable = false;
  EXPECT_EQ(only().command, "muster explain job_0000000000000009")
      << "its arguments are no longer kept";
}

TEST_F(alert_rules, many_failed_jobs_are_grouped_by_cause_with_one_command) {
  auto other = failed_job(9, now - 5s);
  other.name = "etl";
  other.error->message = "division by zero";
  pool().failed.newest = {other};
  for (std::uint64_t n = 4; n > 0; --n)
    pool().failed.newest.push_back(failed_job(n, now - std::chrono::seconds(100 - 10 * n)));
  pool().failed.newest[1].name = "night-4";
  pool().failed.newest[2].retryable = false;
  pool().failed.count = 5;
  auto const items = alerts_of(facts);
  ASSERT_EQ(items.size(), 2u);
  auto const by_rule = [&](std::string_view rule) {
    return *std::find_if(items.begin(), items.end(), [&](auto const& i) { return i.rule == rule; });
  };
  EXPECT_EQ(by_rule("job-failed").title, "Job etl failed");
  EXPECT_EQ(by_rule("job-failed").detail, "division by zero");
  auto const many = by_rule("jobs-failed");
  EXPECT_EQ(many.title, "Job night-4 and 3 more jobs failed") << "the newest is named";
  EXPECT_EQ(many.detail, "no such file; night-4, night, night and 1 more");
  EXPECT_EQ(many.count, 4u);
  EXPECT_EQ(many.since, now - 60s);
  EXPECT_EQ(many.link, "/jobs?state=FAILED");
  EXPECT_EQ(many.command,
            "muster retry job_0000000000000004 job_0000000000000002 job_0000000000000001");
}

TEST_F(alert_rules, failed_jobs_of_many_causes_are_three_alerts_and_a_count) {
  for (std::uint64_t n = 1; n <= 20; ++n) {
    pool().failed.newest.push_back(failed_job(n, now - std::chrono::seconds(n)));
    pool().failed.newest.back().error->message = "cause " + std::to_string(n);
  }
  pool().failed.count = 30;
  auto const items = alerts_of(facts);
  ASSERT_EQ(items.size(), 4u);
  EXPECT_EQ(std::count_if(items.begin(), items.end(),
                          [](auto const& i) { return i.rule == "job-failed"; }),
            3);
  auto const rest = std::find_if(items.begin(), items.end(),
                                 [](auto const& i) { return i.rule == "jobs-failed"; });
  ASSERT_NE(rest, items.end());
  EXPECT_EQ(rest->title, "27 more jobs failed within an hour");
  EXPECT_EQ(rest->count, 27u);
}

TEST_F(alert_rules, failed_closures_of_a_client_session_are_reported) {
  auto const session = [](std::uint64_t id) {
    auto s = failed_job(id, {});
    s.state = core::job_state::running;
    s.client = "ipv4:10.0.0.7:5000";
    return history::failed_sessions::one{s, core::closure_id{0x1'0000'0001}, now - 9s, s.error};
  };
  pool().failed_sessions = {{session(2)}, 1};
  auto const one = only();
  EXPECT_EQ(one.rule, "session-failed");
  EXPECT_EQ(one.severity, alert_severity::warning) << "the program can handle the error";
  EXPECT_EQ(one.title, "2 closures of session night failed");
  EXPECT_EQ(one.detail, "client: ipv4:10.0.0.7:5000; no such file");
  EXPECT_EQ(one.since, now - 9s);
  EXPECT_EQ(one.count, 2u);
  EXPECT_EQ(one.link, "/jobs/job_0000000000000002?state=ENDED_BADLY");
  EXPECT_EQ(one.command, "muster explain cl_0000000100000001");
  pool().failed_sessions.newest[0].session.state = core::job_state::failed;
  pool().failed_sessions.newest[0].why.reset();
  auto const ended = only();
  EXPECT_EQ(ended.severity, alert_severity::error);
  EXPECT_EQ(ended.title, "Session night failed");
  EXPECT_EQ(ended.detail, "client: ipv4:10.0.0.7:5000; no such file") << "its first error";
  EXPECT_EQ(ended.command, "muster jobs job_0000000000000002");
  pool().failed_sessions = {{session(2), session(3)}, 12};
  pool().failed_sessions.newest[1].session.name.clear();
  EXPECT_EQ(said(), (std::vector<std::string>{
                        "session-failed: 2 closures of session night failed",
                        "session-failed: 2 closures of session job_0000000000000003 failed",
                        "sessions-failed: Closures of 10 more sessions failed within an hour"}));
}

TEST_F(alert_rules, queued_work_without_a_worker_names_the_command_to_start_one) {
  pool().overview.closures.queued = 5;
  pool().waits_since = now - 30s;
  facts.worker_address = "10.0.0.1:9000";
  auto const i = only();
  EXPECT_EQ(i.rule, "no-worker");
  EXPECT_EQ(i.title, "5 closures queued, but no worker is connected");
  EXPECT_EQ(i.since, now - 30s);
  EXPECT_EQ(i.command, "muster worker --server 10.0.0.1:9000");
  pool().overview.tasks_connected = 1;
  EXPECT_TRUE(said().empty());
}

TEST_F(alert_rules, function_that_no_worker_provides_is_named) {
  pool().overview.closures.queued = 5;
  pool().overview.tasks_connected = 1;
  core::function_view f;
  f.name = "trian";
  f.queued = 2;
  pool().unserved = {f};
  EXPECT_EQ(only().title, "2 closures of trian queued, but no worker provides it");
  EXPECT_EQ(only().detail,
            "no connected worker provides 'trian'; run 'muster functions' to list the functions "
            "that workers provide");
  pool().unserved[0].ever_had = true;
  EXPECT_EQ(only().detail, "the workers that provided it have left");
}

TEST_F(alert_rules, demand_that_no_connected_worker_satisfies_is_reported) {
  core::demand_view w;
  w.needs.resources = {{"gpu", 8}};
  w.needs.labels = {{"zone", "a"}};
  w.queued = 12;
  w.first = core::closure_id{7};
  w.job = core::session_id{2};
  w.since = now - 19min;
  w.lack.why = core::closure_reason::unsatisfiable;
  w.lack.function = "train";
  w.lack.need = core::unmet_need{core::unmet_need::kind::resource, "gpu", {}, 8, 4};
  pool().unmet_demand.items = {w};
  EXPECT_TRUE(said().empty()) << "without workers, this is the cause";
  pool().overview.tasks_connected = 4;
  auto const i = only();
  EXPECT_EQ(i.title, "12 closures queued for zone=a, gpu=8, which no connected worker has");
  EXPECT_EQ(i.detail, "of 4 workers with 'train', none has gpu=8");
  EXPECT_EQ(i.since, now - 19min);
  EXPECT_EQ(i.link, "/closures/cl_0000000000000007?job=job_0000000000000002");
  EXPECT_EQ(i.command, "muster explain cl_0000000000000007");
  pool().unmet_demand.items[0].workers = 1;
  EXPECT_NE(only().title.find("but the workers that meet this need accept no closures"),
            std::string::npos);
  pool().unmet_demand.items.resize(30, w);
  auto const many = alerts_of(facts);
  ASSERT_EQ(many.size(), 4u);
  EXPECT_EQ(many[3].since, now - 19min);
  EXPECT_EQ(many[3].title, "324 more closures queued with needs that no worker meets");

  // Demand for a function alone is reported by another alert.
  pool().unmet_demand.items.resize(1);
  pool().unmet_demand.items[0].needs = {};
  EXPECT_TRUE(said().empty());
}

TEST_F(alert_rules, gangs_that_can_never_start_are_reported) {
  pool().overview.tasks_connected = 4;
  core::gang_view g;
  g.waits = {"ring", 16, 16, true};
  g.first = core::closure_id{9};
  g.since = now - 1min;
  pool().gangs.items = {g};
  EXPECT_TRUE(said().empty()) << "a gang that waits for its turn is normal";
  pool().gangs.items[0].waits.possible = false;
  EXPECT_EQ(only().title, "Gang ring of 16 closures cannot start");
  EXPECT_EQ(only().detail,
            "the connected workers have no room for the 16 closures of gang 'ring' at the same "
            "time, even "
            "when idle");
}

TEST_F(alert_rules, watchdog_alerts_while_there_is_no_progress) {
  auto& o = pool().overview;
  o.tasks_connected = 1;
  o.closures.running = 2;
  o.quiet_since = now - 5min;
  o.oldest_running = {{core::closure_id{7}, "train", "worker:1", now - 6min}};
  auto const i = only();
  EXPECT_EQ(i.rule, "nothing-finishes");
  EXPECT_EQ(i.title, "No closure has finished for a long time");
  EXPECT_EQ(i.since, now - 5min);
  EXPECT_NE(i.detail.find("train on worker:1"), std::string::npos);
  EXPECT_EQ(i.link, "/closures/cl_0000000000000007");
  o.quiet_since = {};
  EXPECT_TRUE(said().empty());
}

TEST_F(alert_rules, closures_that_repeatedly_lose_workers_are_reported) {
  auto& o = pool().overview;
  o.closures_exclusive = 3;
  o.exclusive = {{core::closure_id{7}, core::session_id{2}, "poison", 3, "worker:0", now - 9s}};
  auto const items = alerts_of(facts);
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[0].title, "poison has lost 3 workers");
  EXPECT_EQ(items[0].detail, "it runs alone on worker:0");
  EXPECT_EQ(items[0].link, "/closures/cl_0000000000000007?job=job_0000000000000002");
  EXPECT_EQ(items[1].title, "2 more closures lost several workers");
}

TEST_F(alert_rules, nearly_reached_limits_are_reported) {
  pool().closures_max = 100;
  pool().closures = 89;
  EXPECT_TRUE(said().empty());
  pool().closures = 90;
  pool().overview.closures.running = 4;
  EXPECT_EQ(only().rule, "closures-full");
  EXPECT_EQ(only().title, "90 closures stored; the limit is 100");
  EXPECT_EQ(only().detail,
            "86 are finished and kept; at the limit, submissions are refused: delete finished "
            "jobs, release values, or raise --closures-max");
  EXPECT_EQ(only().since, core::never) << "otherwise it would look new every second";
}

TEST_F(alert_rules, tokens_that_are_not_required_yet_are_reported) {
  facts.tokens_ignored = true;
  EXPECT_EQ(only().rule, "tokens-ignored");
  EXPECT_EQ(only().severity, alert_severity::warning);
  EXPECT_NE(only().detail.find("restart it so that tokens are required"), std::string::npos);
}

TEST_F(alert_rules, failing_disk_is_reported) {
  pool().disk_fails_since = now - 1min;
  EXPECT_EQ(only().rule, "disk-fails");
  EXPECT_EQ(only().since, now - 1min);
}

TEST_F(alert_rules, full_disk_of_the_data_directory_is_reported) {
  facts.journal = {core::never, {}, now - 2min, "no space left in /data: 12 MiB are free"};
  EXPECT_EQ(only().rule, "disk-full");
  EXPECT_EQ(only().detail, facts.journal.full);
}

TEST_F(alert_rules, unwritable_data_directory_is_reported) {
  facts.journal = {now - 1min, "no space left on device", core::never, {}};
  EXPECT_EQ(only().rule, "journal-fails");
  EXPECT_EQ(only().since, now - 1min);
  EXPECT_NE(only().detail.find("no space"), std::string::npos);
}

TEST_F(alert_rules, failed_run_names_its_first_failure_and_not_its_victims) {
  auto& g = facts.agents[0].view.generation;
  g.number = 2;
  g.state = coordination::generation_state::failed;
  g.cause = coordination::first_cause{"worker:5", "10.0.0.5:1", "out of memory", now - 40s};
  agents_in(agent_health::error) = 8;
  facts.agents[0].troubled = {agent(5, agent_health::error)};
  auto const i = only();
  EXPECT_EQ(i.title, "Run 2 of cluster train failed");
  EXPECT_EQ(i.detail, "first failure: worker:5: out of memory");
  EXPECT_EQ(i.since, now - 40s);
}

TEST_F(alert_rules, missing_agents_are_reported_once_others_wait_for_them) {
  auto& g = facts.agents[0].view.generation;
  g.state = coordination::generation_state::registering;
  g.started = now - 9s;
  agents_in(agent_health::missing) = 2;
  facts.agents[0].troubled = {agent(3, agent_health::missing), agent(6, agent_health::missing)};
  EXPECT_TRUE(said().empty()) << "a missing agent is normal for as long as a barrier may take";
  g.started = now - 11s;
  auto const i = only();
  EXPECT_EQ(i.title, "2 tasks of cluster train not yet registered");
  EXPECT_EQ(i.detail, "worker:3, worker:6; the first of 8 tasks has registered and is waiting");
  EXPECT_EQ(i.link, "/tasks?state=MISSING&cluster=train");
}

TEST_F(alert_rules, agents_in_error_and_late_heartbeats_are_reported) {
  agents_in(agent_health::error) = 1;
  agents_in(agent_health::late) = 2;
  auto late = agent(1, agent_health::late), waited_for = agent(2, agent_health::late);
  waited_for.late_for = "step";
  facts.agents[0].troubled = {agent(0, agent_health::error), late, waited_for};
  EXPECT_EQ(said(),
            (std::vector<std::string>{"agents-in-error: worker:0 of cluster train is in error",
                                      "agents-late: worker:1 of cluster train is late"}))
      << "who is late for a barrier is named with that";
}

TEST_F(alert_rules, stuck_barrier_is_reported) {
  stuck_barrier b{"train", {}};
  b.view.id = "step 12; rm -rf /";
  b.view.participants = 8;
  b.view.arrived_count = 6;
  b.view.started = now - 20s;
  b.view.missing = {{3, "worker:3", "10.0.0.3:1", now}, {6, "worker:6", "", {}}};
  facts.agents[0].stuck = {b};
  auto const i = only();
  EXPECT_EQ(i.title, "2 tasks missing at barrier step 12; rm -rf /");
  EXPECT_EQ(i.detail,
            "worker:3, worker:6 (never connected); 6 of 8 tasks are waiting in cluster train");
  EXPECT_EQ(i.command, "muster barriers show 'step 12; rm -rf /' --cluster train");
  EXPECT_EQ(i.link, "/barriers?id=step%2012%3B%20rm%20-rf%20%2F&cluster=train");
}

TEST_F(alert_rules, agents_that_receive_no_preemption_notice_are_reported) {
  auto& u = facts.agents[0].unheard;
  u = {2, {"/job:worker/task:0", "/job:worker/task:1"}, now - 20s, false};
  auto const i = only();
  EXPECT_EQ(i.rule, "notice-unheard");
  EXPECT_EQ(i.severity, alert_severity::warning);
  EXPECT_EQ(i.title, "2 tasks of cluster train no longer receive preemption notices");
  EXPECT_TRUE(i.detail.starts_with("/job:worker/task:0, /job:worker/task:1; ")) << i.detail;
  EXPECT_EQ(i.since, now - 20s);
  u = {1, {"/job:worker/task:1"}, now, true};
  EXPECT_EQ(only().title,
            "/job:worker/task:1 of cluster train does not receive the pending preemption notice");
  EXPECT_EQ(only().severity, alert_severity::error);
}

TEST(shell_word, any_text_is_quoted_as_one_word) {
  EXPECT_EQ(shell_word("step_12"), "step_12");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word("$(reboot)"), "'$(reboot)'");
  EXPECT_EQ(shell_word("-rf"), "'-rf'") << "still an option for the program, but quoted";
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a\nb"), std::nullopt);
}

}  // namespace alert_cases
}  // namespace muster::web
