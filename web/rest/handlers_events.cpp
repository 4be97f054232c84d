// The event feed: what happened lately, by number.
#include "server/hub/event_log.hpp"
#include "web/json/cluster_json.hpp"
#include "web/rest/answers.hpp"

namespace muster::web {

namespace {

struct events_at {
  std::vector<server::event> events;
  std::uint64_t first = 0, last = 0;
};

void write(json_out& out, events_at const& e) {
  auto const object = out.object();
  out.key("first").number(e.first);
  out.key("last").number(e.last);
  out.key("events").begin_array();
  for (auto const& event : e.events) write(out, event);
  out.end_array();
}

coro::task<response> list_events(web_context& context, exchange& ex) {
  query_check query(ex.req);
  auto const limit = query.limit();
  // Without `after` the newest ones are wanted.
  constexpr auto newest = UINT64_MAX;
  auto const after = query.number("after", newest);
  return look(context, [after, limit](engine_services& services) {
    auto const& log = services.events;
    events_at e;
    e.first = log.first();
    e.last = log.last();
    auto const from = after != newest ? after : e.last - std::min<std::uint64_t>(limit, e.last);
    e.events = log.after(from, limit);
    return e;
  });
}

}  // namespace

void add_event_routes(std::vector<route>& to) {
  to.push_back(get("/api/v1/events", list_events, "listEvents",
                   "What happened, oldest first; what came before `first` is forgotten")
                   .with({{"after", query_kind::number,
                           "only events with a greater number; without it the newest ones"},
                          limit_parameter})
                   .tells("Events"));
}

}  // namespace muster::web
