// The WebSocket clients and their topics: one set for clients that see the whole server, and one
// for each set of clusters to which tokens are restricted. Each tick updates the sets and wakes
// idle clients. The history of the whole server is sampled once per second even without clients.
// Owned by web_server; used on the web thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <unordered_set>
#include <vector>

#include "web/engine/engine_link.hpp"
#include "web/http/web_options.hpp"
#include "web/json/problem.hpp"
#include "web/live/notification_watch.hpp"
#include "web/live/topic_set.hpp"

namespace muster::web {

class subscriber;
struct web_metrics;

class websocket_hub {
 public:
  using shared_topics = std::shared_ptr<topic_set>;
  /// Limit of topic sets for restricted tokens. At the limit, a set without clients is replaced. If
  /// every set has clients, the handshake is rejected (503).
  static constexpr std::size_t bound_max = 32;

  websocket_hub(boost::asio::io_context& context, web_options const& options, engine_link& engine,
                web_metrics& metrics);

  coro::task<void> run();
  void stop();
  void drop_clients();

  /// Rejects a handshake if there are too many clients, the server is stopping, or the subprotocol
  /// is missing.
  std::optional<problem> refusal(std::string_view subprotocols, server::cluster_scope const& scope);
  /// Creates the topics if necessary. Returns null at bound_max.
  shared_topics topics_for(server::cluster_scope const& scope);
  coro::task<muster::result<std::string>> hello(std::string boot);
  void complete(counters& c, server::cluster_scope const& scope) const;

  /// Returns null if no client of this scope has connected yet.
  sample_history const* samples(server::cluster_scope const& scope) const;

  web_metrics& metrics() { return metrics_; }
  web_options const& options() const { return options_; }

  void add(subscriber& c);
  void remove(subscriber& c);
  /// Brings the next tick forward, because a client waits for a topic that is not live, or a
  /// sign-in has ended.
  void hurry();

 private:
  topic_set const* known(server::cluster_scope const& scope) const;
  void check_clients();
  coro::task<void> sleep_until_tick();

  web_options const& options_;
  engine_link& engine_;
  web_metrics& metrics_;
  core::time_point const started_;
  shared_topics const whole_;
  notification_watch notices_;
  std::vector<shared_topics> bound_;
  std::uint64_t bound_made_ = 0;
  std::unordered_set<subscriber*> clients_;
  boost::asio::steady_timer timer_;
  std::chrono::steady_clock::time_point ticked_{};
  bool hurry_ = false;
  bool stopping_ = false;
};

}  // namespace muster::web
