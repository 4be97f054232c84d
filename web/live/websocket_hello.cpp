// What a WebSocket client is told first.
#include "web/live/subscriber.hpp"
#include "web/live/websocket_hub.hpp"

namespace muster::web {

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
  auto const ms = [](core::duration d) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
  };
  std::string text;
  json_out out(text);
  out.begin_object();
  out.key("t").string("hello");
  out.key("proto").string("muster.v1");
  out.key("boot").string(boot);
  out.key("now").number(core::to_unix_ms(f->now));
  out.key("version").string(options_.version);
  out.key("cluster").string("default");
  out.key("heartbeat_ms").number(ms(f->interval));
  out.key("late_ms").number(ms(f->late));
  out.key("timeout_ms").number(ms(f->timeout));
  out.key("limits").begin_object();
  out.key("message_bytes").number(websocket_message_bytes_max);
  out.key("subscriptions").number(websocket_subscriptions_max);
  out.key("logs").number(websocket_logs_max);
  out.end_object().end_object();
  co_return text;
}

}  // namespace muster::web
