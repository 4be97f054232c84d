// The topics and their clients: asks the engine once a tick for all of them together, brings the
// topics up to date and wakes whoever is idle. With no client it still samples the history once a
// second. Owned by web_server, web thread; `run` is one task of its group.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <memory>
#include <span>
#include <unordered_set>

#include "web/engine/engine_link.hpp"
#include "web/http/web_options.hpp"
#include "web/json/problem.hpp"
#include "web/live/cluster_topics.hpp"
#include "web/live/counters_topic.hpp"
#include "web/live/jobs_topic.hpp"
#include "web/live/log_topic.hpp"
#include "web/live/tasks_topic.hpp"
#include "web/metrics/samples.hpp"

namespace muster::web {

class subscriber;
struct web_metrics;

class websocket_hub {
 public:
  websocket_hub(boost::asio::io_context& context, web_options const& options, engine_link& engine,
                web_metrics& metrics);

  /// Ends after `stop`.
  coro::task<void> run();
  /// Says good-bye to every client.
  void stop();
  /// Cuts off those who are left.
  void drop_clients();

  /// Why a handshake is refused: full, stopping, or without our subprotocol.
  std::optional<problem> refusal(std::string_view subprotocols) const;
  /// The first message to a client.
  coro::task<muster::result<std::string>> hello();
  /// Fills in what the engine does not know: uptime and rates.
  void complete(counters& c) const { counters_.complete(c); }

  /// The server's numbers over time.
  sample_history const& samples() const { return samples_; }

  std::string const& boot() const { return boot_; }
  topic& topic_of(topic_name t);
  /// Null when nothing changed.
  shared_text delta_for(topic_name t, std::uint64_t from, std::span<std::uint32_t const> rows);
  web_metrics& metrics() { return metrics_; }
  web_options const& options() const { return options_; }

  /// A topic on somebody's log, "logs:cl_…" or "logs:job_…"; null when the name is none or nobody
  /// watches it.
  log_topic* log_of(std::string const& name);
  /// The same, made when it is not there. Kept for as long as some client is subscribed to it.
  log_topic* watch_log(std::string const& name);

  // For subscriber.
  void add(subscriber& c);
  void remove(subscriber& c);
  void subscribed(topic_name t);

 private:
  struct gathered;

  bool wanted(topic_name t) const;
  coro::task<bool> gather();
  coro::task<void> gather_clusters();
  coro::task<void> gather_attention();
  coro::task<void> gather_logs();
  void hurry();
  rows_topic* rows_of(topic_name t);
  coro::task<muster::result<gathered>> ask(bool tasks, bool jobs);
  void check_clients();
  coro::task<void> sleep_until_tick();

  web_options const& options_;
  engine_link& engine_;
  web_metrics& metrics_;
  std::string const boot_;
  counters_topic counters_;
  sample_history samples_;
  tasks_topic tasks_;
  jobs_topic jobs_;
  agents_topic agents_;
  rows_topic cluster_rows_{topic_name::clusters}, barriers_{topic_name::barriers},
      events_{topic_name::events}, attention_{topic_name::attention};
  std::chrono::steady_clock::time_point attention_at_{};
  std::string ages_;  // of agents' heartbeats, and when they were taken
  core::time_point ages_at_{};
  /// Bounded by the clients and websocket_logs_max.
  std::map<std::string, std::unique_ptr<log_topic>> logs_;
  std::uint64_t log_seq_ = 0;  // at least that of any topic that was in logs_
  std::unordered_set<subscriber*> clients_;
  boost::asio::steady_timer timer_;
  std::chrono::steady_clock::time_point ticked_{};
  bool hurry_ = false;  // somebody waits for a topic that is not live
  bool stopping_ = false;
};

}  // namespace muster::web
