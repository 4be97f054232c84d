// The event feed: what happened lately, by number.
#include "web/http/query.hpp"
#include "web/json/cluster_json.hpp"
#include "web/rest/handlers.hpp"

namespace muster::web {

namespace {

struct events_at {
  std::vector<server::event> events;
  std::uint64_t first = 0, last = 0;
};

coro::task<response> list_events(web_context& context, exchange& ex) {
  query_check query(ex.req);
  auto const limit = query.limit();
  // Without `after` the newest ones are wanted.
  constexpr auto newest = UINT64_MAX;
  auto const after = query.number("after", newest);
  if (query.failed()) co_return problem_response(query.failure());
  auto work = [after, limit](engine_room& room) {
    auto const& log = room.events;
    events_at e;
    e.first = log.first();
    e.last = log.last();
    auto const from = after != newest ? after : e.last - std::min<std::uint64_t>(limit, e.last);
    e.events = log.after(from, limit);
    return e;
  };
  auto asking = context.engine.on_engine(std::move(work));
  auto const e = co_await std::move(asking);
  if (!e) co_return problem_response(e.error());
  std::string text;
  json_out out(text);
  out.begin_object();
  out.key("first").number(e->first);
  out.key("last").number(e->last);
  out.key("events").begin_array();
  for (auto const& event : e->events) write(out, event);
  out.end_array().end_object();
  text += '\n';
  co_return json_response(std::move(text));
}

}  // namespace

void add_event_routes(std::vector<route>& to) {
  to.push_back({"GET",
                "/api/v1/events",
                list_events,
                "listEvents",
                "What happened, oldest first; what came before `first` is forgotten",
                200,
                "application/json",
                body_kind::none,
                {{"after", query_kind::number,
                  "only events with a greater number; without it the newest ones"},
                 limit_parameter}});
}

}  // namespace muster::web
