#include "web/live/websocket_hub.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/text.hpp"
#include "web/live/subscriber.hpp"
#include "web/metrics/metrics.hpp"

namespace muster::web {

namespace {
using clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds tick_smallest{100};
constexpr std::chrono::milliseconds sample_every{1000};
constexpr std::chrono::milliseconds retry_after_stop{1000}, retry_after_slow{2000};

core::time_point wall_clock() {
  return std::chrono::floor<core::duration>(std::chrono::system_clock::now());
}
}  // namespace

websocket_hub::websocket_hub(boost::asio::io_context& context, web_options const& options,
                             engine_link& engine, web_metrics& metrics)
    : options_(options),
      engine_(engine),
      metrics_(metrics),
      started_(wall_clock()),
      whole_(std::make_shared<topic_set>(engine, std::make_shared<server::cluster_scope>(),
                                         hex16(options.boot), started_)),
      notices_(options.outlets.notices, engine, started_),
      timer_(context) {
  whole_->samples().go_on(options.outlets.charts.earlier, options.outlets.charts.keep);
}

websocket_hub::shared_topics websocket_hub::topics_for(server::cluster_scope const& scope) {
  if (scope.whole()) return whole_;
  for (auto const& set : bound_)
    if (set->scope() == scope) return set;
  if (bound_.size() >= bound_max) {
    auto const idle = std::find_if(bound_.begin(), bound_.end(),
                                   [](auto const& set) { return set->clients().empty(); });
    if (idle == bound_.end()) return nullptr;
    bound_.erase(idle);
  }
  // Sequence numbers from an earlier set for the same clusters are not valid for this set.
  auto boot = hex16(options_.boot) + "." + std::to_string(++bound_made_);
  bound_.push_back(std::make_shared<topic_set>(
      engine_, std::make_shared<server::cluster_scope>(scope), std::move(boot), started_));
  return bound_.back();
}

topic_set const* websocket_hub::known(server::cluster_scope const& scope) const {
  if (scope.whole()) return whole_.get();
  for (auto const& set : bound_)
    if (set->scope() == scope) return set.get();
  return nullptr;
}

void websocket_hub::complete(counters& c, server::cluster_scope const& scope) const {
  auto const* const set = known(scope);
  (set ? set : whole_.get())->complete(c);
  if (!set) c.finished_per_s = c.failed_per_s = 0;
}

sample_history const* websocket_hub::samples(server::cluster_scope const& scope) const {
  auto const* const set = known(scope);
  return set ? &set->samples() : nullptr;
}

coro::task<void> websocket_hub::run() {
  while (!stopping_) {
    ticked_ = clock::now();
    auto sets = bound_;  // copied, because a set may be replaced during a wait
    sets.push_back(whole_);
    for (auto const& set : sets) {
      co_await set->gather();
    }
    co_await notices_.look();
    check_clients();
    for (auto* c : clients_) c->wake();
    co_await sleep_until_tick();
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

void websocket_hub::check_clients() {
  auto const now = clock::now();
  auto const clients = clients_;  // copied, because abort() and bye() can remove clients
  for (auto* c : clients) {
    if (!c->has_access())
      c->send_error("UNAUTHENTICATED", "the sign-in is no longer valid; sign in again");
    if (c->writing_since && now - *c->writing_since > options_.timeouts.websocket_write) {
      ++metrics_.websocket_slow;
      c->writing_since.reset();  // counts the client only once
      c->abort();
    } else if (now - c->heard() > options_.timeouts.websocket_ack && !c->leaving()) {
      ++metrics_.websocket_slow;
      c->send_bye("slow", retry_after_slow);
    }
  }
}

void websocket_hub::stop() {
  stopping_ = true;
  auto const clients = clients_;
  for (auto* c : clients) c->send_bye("shutdown", retry_after_stop);
  timer_.cancel();
}

void websocket_hub::drop_clients() {
  auto const clients = clients_;
  for (auto* c : clients) c->abort();
}

std::optional<problem> websocket_hub::refusal(std::string_view subprotocols,
                                              server::cluster_scope const& scope) {
  if (stopping_) return make_problem(503, muster::code::unavailable, "the server is stopping");
  auto const full = [](std::string detail, std::string limit) {
    auto p = make_problem(503, muster::code::resource_exhausted, std::move(detail), {},
                          std::move(limit));
    p.retry_s = 5;
    return p;
  };
  if (clients_.size() >= options_.websocket_clients_max)
    return full("the server has reached its limit on WebSocket clients",
                std::to_string(options_.websocket_clients_max) + " clients");
  if (!topics_for(scope))
    return full(
        "the WebSocket clients already use the maximum number of different sets of clusters",
        std::to_string(bound_max) + " sets of clusters");
  if (subprotocols.empty() || subprotocols.find("muster.v1") != std::string_view::npos) return {};
  return invalid("Sec-WebSocket-Protocol", "expected muster.v1");
}

coro::task<muster::result<std::string>> websocket_hub::hello(std::string boot) {
  struct facts {
    core::time_point now{};
    core::duration interval{}, late{}, timeout{};
  };
  auto work = [](server::hub& h) {
    auto const& c = h.state().configuration();
    return facts{h.now(), c.heartbeat_interval(), c.late_after(), c.heartbeat_timeout};
  };
  auto const f = co_await engine_.on_engine(std::move(work));
  if (!f) co_return f.error();
  co_return object_text([&](member_list const& m) {
    m("t", "hello");
    m("proto", "muster.v1");
    m("boot", boot);
    m("now", f->now);
    m("version", options_.version);
    m("cluster", "default");
    m("heartbeat_ms", f->interval);
    m("late_ms", f->late);
    m("timeout_ms", f->timeout);
    m.object("limits", [](member_list const& of) {
      of("message_bytes", websocket_message_bytes_max);
      of("subscriptions", websocket_subscriptions_max);
      of("logs", websocket_watched_max);
    });
  });
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

void websocket_hub::hurry() {
  hurry_ = true;
  timer_.cancel();
}

}  // namespace muster::web
