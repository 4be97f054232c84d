// The topics of all clients who may see the same clusters: what one tick asks the engine for on
// their behalf, and the topics made of it. Only what somebody of them watches is asked for. Owned
// by websocket_hub; web thread.
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
  /// `boot`: tells clients whether their numbers are of this life of the topics.
  topic_set(engine_link& engine, server::shared_scope scope, std::string boot,
            core::time_point started);

  server::cluster_scope const& scope() const { return *scope_; }
  std::string const& boot() const { return boot_; }

  /// Brings up to date what is watched, and the numbers with their history; with no client the
  /// numbers of the whole server alone, so that charts are full when a page opens.
  coro::task<void> gather();
  /// Fills in what the engine does not know: uptime and rates.
  void complete(counters& c) const { counters_.complete(c); }
  /// The numbers over time; see sample_history::go_on.
  sample_history& samples() { return samples_; }
  sample_history const& samples() const { return samples_; }

  topic& topic_of(topic_name t);

  /// Whether there are topics of such a name beside those of topic_name: on somebody's log,
  /// "logs:cl_…" or "logs:job_…", or on a program, "program:prog_…".
  static bool can_watch(std::string_view name);
  /// Null when nobody watches it.
  topic* watched(std::string const& name);
  /// Made when it is not there, and kept for as long as some client is subscribed to it. REQUIRES:
  /// can_watch(name).
  void watch(std::string const& name);

  std::unordered_set<subscriber*> const& clients() const { return clients_; }
  void add(subscriber& c) { clients_.insert(&c); }
  void remove(subscriber& c) { clients_.erase(&c); }

 private:
  struct gathered;

  bool wanted(topic_name t) const;
  coro::task<void> gather_numbers();
  coro::task<void> gather_clusters();
  coro::task<void> gather_alerts();
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
  /// Both bounded by the clients and websocket_watched_max.
  std::map<std::string, std::unique_ptr<log_topic>> logs_;
  std::map<std::string, std::unique_ptr<rows_topic>> each_program_;
  std::uint64_t watched_seq_ = 0;  // at least that of any topic that was in one of them
  std::unordered_set<subscriber*> clients_;
};

}  // namespace muster::web
