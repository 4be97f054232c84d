// The tick: ask the engine, bring topics up to date, drop who is too slow, wake the others.
#include "web/live/websocket_hub.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/text.hpp"
#include "web/attention/collect.hpp"
#include "web/live/heartbeat_ages.hpp"
#include "web/live/rows_of_pools.hpp"
#include "web/live/subscriber.hpp"
#include "web/metrics/metrics.hpp"

namespace muster::web {

namespace {
using clock = std::chrono::steady_clock;

// Ticks that somebody hurries come no closer than this.
constexpr std::chrono::milliseconds tick_smallest{100};
constexpr std::chrono::milliseconds sample_every{1000};
constexpr std::chrono::milliseconds retry_after_stop{1000}, retry_after_slow{2000};

core::time_point wall_clock() {
  return std::chrono::floor<core::duration>(std::chrono::system_clock::now());
}
}  // namespace

struct websocket_hub::gathered {
  counters numbers;
  closure_times times;
  core::duration heartbeat_interval{};
  std::vector<core::job_view> jobs;
  std::vector<core::task_view> tasks;
  std::optional<task_place> more_tasks;
  bool whole = true;  // tasks were read in one go
};

websocket_hub::websocket_hub(boost::asio::io_context& context, web_options const& options,
                             engine_link& engine, web_metrics& metrics)
    : options_(options),
      engine_(engine),
      metrics_(metrics),
      boot_(hex16(options.boot)),
      counters_(wall_clock()),
      timer_(context) {
  counters_.live = true;
}

rows_topic* websocket_hub::rows_of(topic_name t) {
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

topic& websocket_hub::topic_of(topic_name t) {
  if (auto* rows = rows_of(t)) return *rows;
  if (t == topic_name::agents) return agents_;
  if (t == topic_name::tasks) return tasks_;
  if (t == topic_name::jobs) return jobs_;
  return counters_;
}

shared_text websocket_hub::delta_for(topic_name t, std::uint64_t from,
                                     std::span<std::uint32_t const> rows) {
  if (auto* named = rows_of(t)) return named->delta_for(from);
  if (t == topic_name::agents) return agents_.delta_for(from);
  if (t == topic_name::tasks) return tasks_.delta_for(from, rows);
  if (t == topic_name::jobs) return jobs_.delta_for(from);
  return counters_.delta(from);
}

coro::task<void> websocket_hub::run() {
  while (!stopping_) {
    ticked_ = clock::now();
    auto gathering = gather();
    co_await std::move(gathering);
    auto gathering_clusters = gather_clusters();
    co_await std::move(gathering_clusters);
    auto gathering_attention = gather_attention();
    co_await std::move(gathering_attention);
    auto gathering_logs = gather_logs();
    co_await std::move(gathering_logs);
    check_clients();
    for (auto* c : clients_) c->wake();
    auto sleeping = sleep_until_tick();
    co_await std::move(sleeping);
  }
}

coro::task<void> websocket_hub::sleep_until_tick() {
  while (!stopping_) {
    auto const pause = hurry_             ? tick_smallest
                       : clients_.empty() ? sample_every
                                          : std::min(options_.websocket_tick, sample_every);
    auto const due = ticked_ + pause;
    if (clock::now() >= due) break;
    timer_.expires_at(due);
    co_await timer_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
  }
  hurry_ = false;
}

bool websocket_hub::wanted(topic_name t) const {
  for (auto const* c : clients_)
    if (c->subscribed(t)) return true;
  return false;
}

// False: the engine did not answer; the topics stay as they are.
coro::task<bool> websocket_hub::gather() {
  bool const tasks = wanted(topic_name::tasks), jobs = wanted(topic_name::jobs);
  auto asking = ask(tasks, jobs);
  auto all = co_await std::move(asking);
  if (!all) co_return false;
  auto const now = all->numbers.now;
  samples_.add(all->numbers, all->times);
  counters_.update(std::move(all->numbers));
  if (tasks) tasks_.update(all->tasks, now, all->heartbeat_interval, all->whole);
  if (jobs) jobs_.update(std::move(all->jobs), now);
  tasks_.live = tasks;
  jobs_.live = jobs;
  co_return true;
}

coro::task<void> websocket_hub::gather_clusters() {
  cluster_wishes wishes;
  wishes.clusters = wanted(topic_name::clusters);
  wishes.agents = wanted(topic_name::agents);
  wishes.barriers = wanted(topic_name::barriers);
  wishes.events = wanted(topic_name::events);
  if (wishes.any()) {
    auto collecting = collect_clusters(engine_, wishes);
    auto all = co_await std::move(collecting);
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
coro::task<void> websocket_hub::gather_attention() {
  bool const wish = wanted(topic_name::attention);
  auto const due = !attention_.live || clock::now() - attention_at_ >= sample_every;
  if (wish && due) {
    attention_at_ = clock::now();
    auto collecting = collect_attention(engine_, {});
    auto const facts = co_await std::move(collecting);
    if (!facts) co_return;
    named_rows rows;
    for (auto const& item : attention(*facts))
      rows.emplace_back(key_of(item), json_text([&item](json_out& out) { write(out, item); }));
    attention_.update(std::move(rows), 0, facts->now);
  }
  attention_.live = wish;
}

log_topic* websocket_hub::log_of(std::string const& name) {
  auto const it = logs_.find(name);
  return it == logs_.end() ? nullptr : it->second.get();
}

log_topic* websocket_hub::watch_log(std::string const& name) {
  if (auto* known = log_of(name)) return known;
  auto const target = log_topic::target_named(name);
  if (!target) return nullptr;
  hurry();
  return logs_.emplace(name, std::make_unique<log_topic>(name, *target, log_seq_))
      .first->second.get();
}

coro::task<void> websocket_hub::gather_logs() {
  std::erase_if(logs_, [this](auto const& named) {
    for (auto const* c : clients_)
      if (c->watches_log(named.first)) return false;
    log_seq_ = std::max(log_seq_, named.second->seq());
    return true;
  });
  if (logs_.empty()) co_return;
  std::vector<log_wish> wishes;
  for (auto const& [name, topic] : logs_) wishes.push_back(topic->wish());
  auto collecting = collect_logs(engine_, std::move(wishes));
  auto all = co_await std::move(collecting);
  if (!all) co_return;
  // Topics may have come meanwhile, none has gone.
  for (auto& news : *all)
    if (auto* topic = log_of(news.name)) topic->update(std::move(news));
}

coro::task<muster::result<websocket_hub::gathered>> websocket_hub::ask(bool tasks, bool jobs) {
  auto first = [tasks, jobs](engine_services& services) {
    gathered g;
    auto& main = services.pools.main();
    g.numbers = collect_all_counters(services.pools, services.coordination);
    g.times = collect_times(services.pools);
    g.heartbeat_interval = main.state().configuration().heartbeat_interval();
    if (jobs) g.jobs = watched_jobs(services.pools);
    if (tasks) {
      auto page = tasks_from(services.pools, {});
      g.tasks = std::move(page.rows);
      g.more_tasks = page.next;
    }
    return g;
  };
  auto asking = engine_.on_engine(std::move(first));
  auto all = co_await std::move(asking);
  while (all && all->more_tasks) {
    all->whole = false;
    auto more = [from = *all->more_tasks](engine_services& services) {
      return tasks_from(services.pools, from);
    };
    auto asking_more = engine_.on_engine(std::move(more));
    auto page = co_await std::move(asking_more);
    if (!page) co_return page.error();
    std::move(page->rows.begin(), page->rows.end(), std::back_inserter(all->tasks));
    all->more_tasks = page->next;
  }
  co_return all;
}

void websocket_hub::check_clients() {
  auto const now = clock::now();
  auto const clients = clients_;  // abort and bye may remove
  for (auto* c : clients) {
    if (c->writing_since && now - *c->writing_since > options_.timeouts.websocket_write) {
      ++metrics_.websocket_slow;
      c->writing_since.reset();  // counted once
      c->abort();
    } else if (now - c->heard() > options_.timeouts.websocket_ack && !c->leaving()) {
      ++metrics_.websocket_slow;
      c->say_bye("slow", retry_after_slow);
    }
  }
}

void websocket_hub::stop() {
  stopping_ = true;
  auto const clients = clients_;
  for (auto* c : clients) c->say_bye("shutdown", retry_after_stop);
  timer_.cancel();
}

void websocket_hub::drop_clients() {
  auto const clients = clients_;  // abort may remove
  for (auto* c : clients) c->abort();
}

std::optional<problem> websocket_hub::refusal(std::string_view subprotocols) const {
  if (stopping_) return make_problem(503, muster::code::unavailable, "the server is stopping");
  if (clients_.size() >= options_.websocket_clients_max) {
    auto p = make_problem(503, muster::code::resource_exhausted, "all WebSocket places are taken");
    p.limit = std::to_string(options_.websocket_clients_max) + " clients";
    p.retry_s = 5;
    return p;
  }
  if (subprotocols.empty() || subprotocols.find("muster.v1") != std::string_view::npos) return {};
  return invalid("Sec-WebSocket-Protocol", "this server speaks muster.v1");
}

void websocket_hub::add(subscriber& c) {
  clients_.insert(&c);
  ++metrics_.websocket_clients;
  ++metrics_.websocket_clients_total;
}

void websocket_hub::remove(subscriber& c) {
  clients_.erase(&c);
  --metrics_.websocket_clients;
}

void websocket_hub::subscribed(topic_name t) {
  if (!topic_of(t).live) hurry();
}

void websocket_hub::hurry() {
  hurry_ = true;
  timer_.cancel();  // sleep again, for a shorter time
}

}  // namespace muster::web
