// The event feed: what happened lately, by number.
#include "base/text.hpp"
#include "server/hub/access/program_scope.hpp"
#include "server/hub/event_log.hpp"
#include "web/json/cluster_json.hpp"
#include "web/rest/access.hpp"
#include "web/rest/answers.hpp"

namespace muster::web {

namespace {

struct events_at {
  std::vector<server::event> events;
  std::uint64_t first = 0, last = 0;
};

void members(member_list const& m, events_at const& e) {
  m("first", e.first);
  m("last", e.last);
  m("events", e.events);
}

coro::task<response> list_events(web_context& context, exchange& ex) {
  query_check query(ex.req);
  auto const limit = query.limit();
  // Without `after` the newest ones are wanted.
  constexpr auto newest = UINT64_MAX;
  auto const after = query.number("after", newest);
  auto const subject = std::string(query.text("subject"));
  auto const severity = std::string(query.text("severity"));
  auto work = [after, limit, subject, severity,
               scope = scope_of(context, ex.req)](engine_services& services) {
    auto const& log = services.events;
    events_at e;
    e.first = log.first();
    e.last = log.last();
    // All are looked at, which are 10,000 at most.
    auto const fits = [&](server::event const& one) {
      return sees(*scope, services.pools, one.what) &&
             (subject.empty() || one.what.subject == subject) &&
             (severity.empty() || equal_ignoring_case(severity, severity_name(one.what.severity)));
    };
    bool const all = scope->whole() && subject.empty() && severity.empty();
    if (all && after != newest)
      e.events = log.after(after, limit);
    else
      e.events = log.newest(after != newest ? after : 0, limit, fits);
    return e;
  };
  return look(context, std::move(work));
}

}  // namespace

void add_event_routes(std::vector<route>& to) {
  static constexpr std::string_view severities[] = {"INFO", "WARNING", "ERROR"};
  to.push_back(get("/api/v1/events", list_events, "listEvents",
                   "What happened, oldest first; what came before `first` is forgotten")
                   .with({{"after", query_kind::number,
                           "only events with a greater number; without it the newest ones"},
                          {"subject", query_kind::text, "only about this task, barrier or worker"},
                          choice_parameter("severity", severities, "only of this severity"),
                          limit_parameter})
                   .tells("Events", schema_of<events_at>));
}

}  // namespace muster::web
