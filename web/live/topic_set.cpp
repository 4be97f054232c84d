// Asks the engine for one set of clients, and brings their topics up to date.
#include "web/live/topic_set.hpp"

#include "web/attention/collect.hpp"
#include "web/live/heartbeat_ages.hpp"
#include "web/live/rows_of_pools.hpp"
#include "web/live/subscriber.hpp"

namespace muster::web {

namespace {
using clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds attention_every{1000};
}  // namespace

struct topic_set::gathered {
  counters numbers;
  closure_times times;
  core::duration heartbeat_interval{};
  std::vector<core::job_view> jobs;
  std::vector<core::task_view> tasks;
  std::optional<task_place> more_tasks;
  bool whole = true;  // tasks were read in one go
};

topic_set::topic_set(engine_link& engine, server::shared_scope scope, std::string boot,
                     core::time_point started)
    : engine_(engine), scope_(std::move(scope)), boot_(std::move(boot)), counters_(started) {
  counters_.live = scope_->whole();
}

rows_topic* topic_set::rows_of(topic_name t) {
  switch (t) {
    case topic_name::clusters:
      return &cluster_rows_;
    case topic_name::barriers:
      return &barriers_;
    case topic_name::events:
      return &events_;
    case topic_name::attention:
      return &attention_;
    default:
      return nullptr;
  }
}

topic& topic_set::topic_of(topic_name t) {
  if (auto* rows = rows_of(t)) return *rows;
  if (t == topic_name::agents) return agents_;
  if (t == topic_name::tasks) return tasks_;
  if (t == topic_name::jobs) return jobs_;
  return counters_;
}

shared_text topic_set::delta_for(topic_name t, std::uint64_t from,
                                 std::span<std::uint32_t const> rows) {
  if (auto* named = rows_of(t)) return named->delta_for(from);
  if (t == topic_name::agents) return agents_.delta_for(from);
  if (t == topic_name::tasks) return tasks_.delta_for(from, rows);
  if (t == topic_name::jobs) return jobs_.delta_for(from);
  return counters_.delta(from);
}

bool topic_set::wanted(topic_name t) const {
  for (auto const* c : clients_)
    if (c->subscribed(t)) return true;
  return false;
}

coro::task<void> topic_set::gather() {
  if (clients_.empty() && !scope_->whole()) {
    for (auto const t : topic_names) topic_of(t).live = false;
    logs_.clear();
    co_return;
  }
  co_await gather_numbers();
  co_await gather_clusters();
  co_await gather_attention();
  co_await gather_logs();
}

// Where the engine does not answer the topics stay as they are.
coro::task<void> topic_set::gather_numbers() {
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
  cluster_wishes wishes;
  wishes.clusters = wanted(topic_name::clusters);
  wishes.agents = wanted(topic_name::agents);
  wishes.barriers = wanted(topic_name::barriers);
  wishes.events = wanted(topic_name::events);
  if (wishes.any()) {
    auto all = co_await collect_clusters(engine_, wishes, scope_);
    if (!all) co_return;
    auto const take = [&](bool wish, rows_topic& topic, topic_rows& rows) {
      if (wish) topic.update(std::move(rows.rows), rows.more, all->now);
    };
    take(wishes.clusters, cluster_rows_, all->clusters);
    if (wishes.agents) {
      if (!agents_.live || all->now - ages_at_ >= heartbeat_ages::every) {
        ages_at_ = all->now;
        ages_ = std::move(all->ages);
      }
      agents_.update(std::move(all->agents), all->more_agents, all->now, ages_);
    }
    take(wishes.barriers, barriers_, all->barriers);
    take(wishes.events, events_, all->events);
  }
  cluster_rows_.live = wishes.clusters;
  agents_.live = wishes.agents;
  barriers_.live = wishes.barriers;
  events_.live = wishes.events;
}

// Once a second is enough for people.
coro::task<void> topic_set::gather_attention() {
  bool const wish = wanted(topic_name::attention);
  auto const due = !attention_.live || clock::now() - attention_at_ >= attention_every;
  if (wish && due) {
    attention_at_ = clock::now();
    auto const facts = co_await collect_attention(engine_, scope_);
    if (!facts) co_return;
    named_rows rows;
    for (auto const& item : attention(*facts))
      rows.emplace_back(key_of(item), json_text([&item](json_out& out) { write(out, item); }));
    attention_.update(std::move(rows), 0, facts->now);
  }
  attention_.live = wish;
}

log_topic* topic_set::log_of(std::string const& name) {
  auto const it = logs_.find(name);
  return it == logs_.end() ? nullptr : it->second.get();
}

log_topic* topic_set::watch_log(std::string const& name) {
  if (auto* known = log_of(name)) return known;
  auto const target = log_topic::target_named(name);
  if (!target) return nullptr;
  return logs_.emplace(name, std::make_unique<log_topic>(name, *target, log_seq_))
      .first->second.get();
}

coro::task<void> topic_set::gather_logs() {
  std::erase_if(logs_, [this](auto const& named) {
    for (auto const* c : clients_)
      if (c->watches_log(named.first)) return false;
    log_seq_ = std::max(log_seq_, named.second->seq());
    return true;
  });
  if (logs_.empty()) co_return;
  std::vector<log_wish> wishes;
  for (auto const& [name, topic] : logs_) wishes.push_back(topic->wish());
  auto all = co_await collect_logs(engine_, std::move(wishes), scope_);
  if (!all) co_return;
  // Topics may have come meanwhile, none has gone.
  for (auto& news : *all)
    if (auto* topic = log_of(news.name)) topic->update(std::move(news));
}

coro::task<muster::result<topic_set::gathered>> topic_set::ask(bool tasks, bool jobs) {
  auto first = [tasks, jobs, scope = scope_](engine_services& services) {
    gathered g;
    auto& main = services.pools.main();
    g.numbers = collect_all_counters(services.pools, services.coordination, *scope);
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
