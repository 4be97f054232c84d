// The clients and the topics they see: one set for those who see the whole server, and one for each
// set of clusters that tokens are bound to. Once a tick each set asks the engine, and who is idle
// is woken. With no client the whole server's still samples the history once a second. Owned by
// web_server, web thread; `run` is one task of its group.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <unordered_set>
#include <vector>

#include "web/engine/engine_link.hpp"
#include "web/http/web_options.hpp"
#include "web/json/problem.hpp"
#include "web/live/notice_watch.hpp"
#include "web/live/topic_set.hpp"

namespace muster::web {

class subscriber;
struct web_metrics;

class websocket_hub {
 public:
  using shared_topics = std::shared_ptr<topic_set>;
  /// Different sets of bound tokens' clusters that pages are open for. Full: one that nobody looks
  /// at makes room, or the handshake is refused (503).
  static constexpr std::size_t bound_max = 32;

  websocket_hub(boost::asio::io_context& context, web_options const& options, engine_link& engine,
                web_metrics& metrics);

  /// Ends after `stop`.
  coro::task<void> run();
  /// Says good-bye to every client.
  void stop();
  /// Cuts off those who are left.
  void drop_clients();

  /// Why a handshake is refused: full, stopping, or without our subprotocol.
  std::optional<problem> refusal(std::string_view subprotocols, server::cluster_scope const& scope);
  /// What clients of this scope see, made when it is not there. Null: see bound_max.
  shared_topics topics_for(server::cluster_scope const& scope);
  /// The first message to a client.
  coro::task<muster::result<std::string>> hello(std::string boot);
  /// Fills in what the engine does not know: uptime and, where somebody of this scope looks, rates.
  void complete(counters& c, server::cluster_scope const& scope) const;

  /// The numbers over time. Null: nobody of this scope has looked yet.
  sample_history const* samples(server::cluster_scope const& scope) const;

  web_metrics& metrics() { return metrics_; }
  web_options const& options() const { return options_; }

  // For subscriber.
  void add(subscriber& c);
  void remove(subscriber& c);
  /// Makes the next tick come soon: a client waits for a topic that is not live, or a sign-in has
  /// ended.
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
  notice_watch notices_;
  std::vector<shared_topics> bound_;
  std::uint64_t bound_made_ = 0;
  std::unordered_set<subscriber*> clients_;  // of all sets
  boost::asio::steady_timer timer_;
  std::chrono::steady_clock::time_point ticked_{};
  bool hurry_ = false;
  bool stopping_ = false;
};

}  // namespace muster::web
