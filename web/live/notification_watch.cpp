#include "web/live/notification_watch.hpp"

#include "web/alerts/collect.hpp"

namespace muster::web {

coro::task<void> notification_watch::look() {
  auto const now = std::chrono::steady_clock::now();
  if (!to_.send || now - last_check_ < every) co_return;
  last_check_ = now;
  auto const facts =
      co_await collect_alerts(engine_, std::make_shared<server::cluster_scope const>());
  if (!facts) co_return;
  auto const n = board_.look(alerts_of(*facts));
  if (!n.empty()) to_.send(slack_text(n, to_.page));
}

}  // namespace muster::web
