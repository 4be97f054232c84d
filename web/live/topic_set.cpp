#include "web/live/topic_set.hpp"

#include <algorithm>
#include <iterator>

#include "server/core/queries/worker_queries.hpp"
#include "server/history/jobs/job_pages.hpp"
#include "web/alerts/collect.hpp"
#include "web/live/programs_topics.hpp"
#include "web/live/subscriber.hpp"

namespace muster::web {

namespace {
using clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds alerts_every{1000};

struct task_place {
  std::size_t pool = 0, row = 0;
};
struct task_page {
  std::vector<core::task_view> rows;
  std::optional<task_place> next;
};

constexpr std::size_t rows_a_page = 1000;

template <class T>
void append(std::vector<T>& to, std::vector<T> some) {
  std::move(some.begin(), some.end(), std::back_inserter(to));
}

template <class View>
void name_cluster(server::hub const& h, std::vector<View>& rows) {
  for (auto& row : rows) row.cluster = h.cluster();
}

// Reads at most 1,000 rows, so that the engine is not blocked for long.
task_page tasks_from(server::pools& all, task_place from, server::cluster_scope const& scope) {
  task_page page;
  std::size_t pool = 0;
  all.for_each([&](server::hub& h) {
    auto const at = pool++;
    if (page.next || at < from.pool || !scope.sees(h.cluster())) return;
    auto const row = at == from.pool ? from.row : 0;
    auto const room = rows_a_page - page.rows.size();
    if (room == 0) {
      page.next = task_place{at, row};
      return;
    }
    auto some = h.state().workers().list(row, room, {});
    name_cluster(h, some.items);
    append(page.rows, std::move(some.items));
    if (some.next) page.next = task_place{at, *some.next};
  });
  return page;
}

std::vector<core::job_view> watched_jobs(server::pools& all, server::cluster_scope const& scope) {
  std::vector<core::job_view> jobs;
  all.for_each([&](server::hub& h) {
    if (!scope.sees(h.cluster())) return;
    auto some = history::watched_jobs(h.past(), h.state(), h.now());
    name_cluster(h, some);
    append(jobs, std::move(some));
  });
  std::sort(jobs.begin(), jobs.end(), [](auto const& a, auto const& b) { return a.id > b.id; });
  return jobs;
}

}  // namespace

struct topic_set::gathered {
  counters numbers;
  closure_times times;
  core::duration heartbeat_interval{};
  std::vector<core::job_view> jobs;
  std::vector<core::task_view> tasks;
  std::optional<task_place> more_tasks;
  bool whole = true;
};

topic_set::topic_set(engine_link& engine, server::shared_scope scope, std::string boot,
                     core::time_point started)
    : engine_(engine), scope_(std::move(scope)), boot_(std::move(boot)), counters_(started) {
  counters_.live = scope_->whole();
}

topic& topic_set::topic_of(topic_name t) {
  std::array<topic*, topic_names.size()> const all{&counters_,     &tasks_,  &jobs_,
                                                   &cluster_rows_, &agents_, &barriers_,
                                                   &events_,       &alerts_, &programs_};
  return *all[static_cast<std::size_t>(t)];
}

bool topic_set::wanted(topic_name t) const {
  for (auto const* c : clients_)
    if (c->subscribed(t)) return true;
  return false;
}

coro::task<void> topic_set::gather() {
  if (clients_.empty() && !scope_->whole()) {
    for (auto const t : topic_names) topic_of(t).live = false;
    forget_unwatched();
    co_return;
  }
  forget_unwatched();
  co_await update_counters();
  co_await gather_clusters();
  co_await update_alerts();
  co_await gather_programs();
  co_await gather_logs();
}

// The topics stay unchanged if the engine does not answer.
coro::task<void> topic_set::update_counters() {
  bool const tasks = wanted(topic_name::tasks), jobs = wanted(topic_name::jobs);
  auto all = co_await ask(tasks, jobs);
  if (!all) co_return;
  auto const now = all->numbers.now;
  samples_.add(all->numbers, all->times);
  counters_.update(std::move(all->numbers));
  if (tasks) tasks_.update(all->tasks, now, all->heartbeat_interval, all->whole);
  if (jobs) jobs_.update(std::move(all->jobs), now);
  tasks_.live = tasks;
  jobs_.live = jobs;
  counters_.live = true;
}

coro::task<void> topic_set::gather_clusters() {
  topics_asked asked;
  asked.clusters = wanted(topic_name::clusters);
  asked.agents = wanted(topic_name::agents);
  asked.barriers = wanted(topic_name::barriers);
  asked.events = wanted(topic_name::events);
  if (asked.any()) {
    auto all = co_await collect_clusters(engine_, asked, scope_);
    if (!all) co_return;
    auto const take = [&](bool on, rows_topic& topic, topic_rows& rows) {
      if (on) topic.update(std::move(rows.rows), rows.more, all->now);
    };
    take(asked.clusters, cluster_rows_, all->clusters);
    if (asked.agents)
      agents_.update(std::move(all->agents), all->more_agents, all->now, std::move(all->ages));
    take(asked.barriers, barriers_, all->barriers);
    take(asked.events, events_, all->events);
  }
  cluster_rows_.live = asked.clusters;
  agents_.live = asked.agents;
  barriers_.live = asked.barriers;
  events_.live = asked.events;
}

coro::task<void> topic_set::update_alerts() {
  bool const on = wanted(topic_name::alerts);
  auto const due = !alerts_.live || clock::now() - alerts_at_ >= alerts_every;
  if (on && due) {
    alerts_at_ = clock::now();
    auto const facts = co_await collect_alerts(engine_, scope_);
    if (!facts) co_return;
    named_rows rows;
    for (auto const& item : alerts_of(*facts))
      rows.emplace_back(key_of(item), json_text([&item](json_out& out) { write(out, item); }));
    alerts_.update(std::move(rows), 0, facts->now);
  }
  alerts_.live = on;
}

bool topic_set::is_topic_name(std::string_view name) {
  return log_topic::target_named(name) || program_named(name);
}

topic* topic_set::watched(std::string const& name) {
  if (auto const it = logs_.find(name); it != logs_.end()) return it->second.get();
  auto const it = each_program_.find(name);
  return it == each_program_.end() ? nullptr : it->second.get();
}

void topic_set::watch(std::string const& name) {
  if (watched(name)) return;
  if (auto const log = log_topic::target_named(name))
    logs_.emplace(name, std::make_unique<log_topic>(name, *log, watched_seq_));
  else
    each_program_.emplace(name, std::make_unique<rows_topic>(name, watched_seq_));
}

void topic_set::forget_unwatched() {
  auto const unwatched = [this](auto const& named) {
    for (auto const* c : clients_)
      if (c->watches(named.first)) return false;
    watched_seq_ = std::max(watched_seq_, named.second->seq());
    return true;
  };
  std::erase_if(logs_, unwatched);
  std::erase_if(each_program_, unwatched);
}

coro::task<void> topic_set::gather_programs() {
  programs_asked asked;
  asked.list = wanted(topic_name::programs);
  for (auto const& [name, topic] : each_program_) asked.each.push_back(name);
  programs_.live = asked.list && programs_.live;
  if (!asked.any()) co_return;
  auto all = co_await collect_programs(engine_, std::move(asked), scope_);
  if (!all) co_return;
  if (all->list) programs_.update(std::move(all->list->rows), all->list->more, all->now);
  programs_.live = all->list.has_value();
  // Topics may have been added during the wait, but none were removed.
  for (auto& [name, rows] : all->each) {
    auto const at = each_program_.find(name);
    if (at == each_program_.end()) continue;
    at->second->update(std::move(rows), 0, all->now);
    at->second->live = true;
  }
}

coro::task<void> topic_set::gather_logs() {
  if (logs_.empty()) co_return;
  std::vector<log_position> interests;
  for (auto const& [name, topic] : logs_) interests.push_back(topic->interest());
  auto all = co_await collect_logs(engine_, std::move(interests), scope_);
  if (!all) co_return;
  for (auto& news : *all)
    if (auto const at = logs_.find(news.name); at != logs_.end())
      at->second->update(std::move(news));
}

coro::task<muster::result<topic_set::gathered>> topic_set::ask(bool tasks, bool jobs) {
  auto first = [tasks, jobs, scope = scope_](engine_services& services) {
    gathered g;
    auto& main = services.pools.main();
    g.numbers = collect_all_counters(services.pools, services.coordination, services.blobs, *scope);
    g.times = collect_times(services.pools, *scope);
    g.heartbeat_interval = main.state().configuration().heartbeat_interval();
    if (jobs) g.jobs = watched_jobs(services.pools, *scope);
    if (tasks) {
      auto page = tasks_from(services.pools, {}, *scope);
      g.tasks = std::move(page.rows);
      g.more_tasks = page.next;
    }
    return g;
  };
  auto all = co_await engine_.on_engine(std::move(first));
  while (all && all->more_tasks) {
    all->whole = false;
    auto more = [from = *all->more_tasks, scope = scope_](engine_services& services) {
      return tasks_from(services.pools, from, *scope);
    };
    auto page = co_await engine_.on_engine(std::move(more));
    if (!page) co_return page.error();
    std::move(page->rows.begin(), page->rows.end(), std::back_inserter(all->tasks));
    all->more_tasks = page->next;
  }
  co_return all;
}

}  // namespace muster::web
