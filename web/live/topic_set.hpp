// The topics of all clients that see the same clusters. A tick reads only the topics that have
// subscribers. Owned by websocket_hub; used on the web thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>

#include "web/engine/engine_link.hpp"
#include "web/live/cluster_topics.hpp"
#include "web/live/counters_topic.hpp"
#include "web/live/jobs_topic.hpp"
#include "web/live/log_topic.hpp"
#include "web/live/tasks_topic.hpp"
#include "web/metrics/samples.hpp"

namespace muster::web {

class subscriber;

class topic_set {
 public:
  /// `boot` tells clients whether their sequence numbers are valid.
  topic_set(engine_link& engine, server::shared_scope scope, std::string boot,
            core::time_point started);

  server::cluster_scope const& scope() const { return *scope_; }
  std::string const& boot() const { return boot_; }

  /// Updates the topics with subscribers, and the counters with their history. Without clients,
  /// still updates the counters of the whole server, so that a new dashboard has full charts.
  coro::task<void> gather();
  void complete(counters& c) const { counters_.complete(c); }
  sample_history& samples() { return samples_; }
  sample_history const& samples() const { return samples_; }

  topic& topic_of(topic_name t);

  /// Accepts names outside topic_name: "logs:cl_…", "logs:job_…" and "program:prog_…".
  static bool is_topic_name(std::string_view name);
  topic* watched(std::string const& name);
  /// Keeps the topic as long as a client is subscribed to it. REQUIRES: is_topic_name(name).
  void watch(std::string const& name);

  std::unordered_set<subscriber*> const& clients() const { return clients_; }
  void add(subscriber& c) { clients_.insert(&c); }
  void remove(subscriber& c) { clients_.erase(&c); }

 private:
  struct gathered;

  bool wanted(topic_name t) const;
  coro::task<void> update_counters();
  coro::task<void> gather_clusters();
  coro::task<void> update_alerts();
  coro::task<void> gather_programs();
  coro::task<void> gather_logs();
  void forget_unwatched();
  coro::task<muster::result<gathered>> ask(bool tasks, bool jobs);

  engine_link& engine_;
  server::shared_scope const scope_;
  std::string const boot_;
  counters_topic counters_;
  sample_history samples_;
  tasks_topic tasks_;
  jobs_topic jobs_;
  agents_topic agents_;
  rows_topic cluster_rows_{topic_name::clusters}, barriers_{topic_name::barriers},
      events_{topic_name::events}, alerts_{topic_name::alerts}, programs_{topic_name::programs};
  std::chrono::steady_clock::time_point alerts_at_{};
  /// Bounded by the number of clients and websocket_watched_max.
  std::map<std::string, std::unique_ptr<log_topic>> logs_;
  std::map<std::string, std::unique_ptr<rows_topic>> each_program_;
  std::uint64_t watched_seq_ = 0;  // at least the sequence number of any earlier topic
  std::unordered_set<subscriber*> clients_;
};

}  // namespace muster::web
