#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "server/history/store/records.hpp"
#include "server/hub/access/program_scope.hpp"
#include "server/hub/event_log.hpp"
#include "web/json/cluster_json.hpp"
#include "web/rest/answers.hpp"
#include "web/rest/caller_check.hpp"
#include "web/rest/history/history_reading.hpp"

namespace muster::web {

namespace {

struct events_at {
  std::vector<server::event> events;
  std::uint64_t first = 0, last = 0;
  std::string next{};
};

struct event_filter {
  std::string subject, severity, kind;  // empty: any

  explicit event_filter(query_check& query)
      : subject(query.text("subject")),
        severity(query.text("severity")),
        kind(query.text("kind")) {}
  [[nodiscard]] bool is_empty() const {
    return subject.empty() && severity.empty() && kind.empty();
  }
  [[nodiscard]] bool takes(server::log_event const& e) const {
    return (subject.empty() || e.subject == subject) && (kind.empty() || e.kind == kind) &&
           (severity.empty() || equal_ignoring_case(severity, name(e.severity)));
  }
};

void members(member_list const& m, events_at const& e) {
  m("first", e.first);
  m("last", e.last);
  m("events", e.events, "events read from disk have the number 0");
  m.some("next_page_token", e.next, "present with from_ms or to_ms");
}

bool equal(server::event const& a, server::event const& b) {
  auto const fields = [](server::event const& e) {
    return std::tie(e.at, e.what.severity, e.what.kind, e.what.cluster, e.what.subject,
                    e.what.text);
  };
  return fields(a) == fields(b);
}

/// Appends events in memory that are newer than the last page from disk, because the events of
/// about one second are not on disk yet. `newest` contains up to `q.limit` events.
void append_unwritten(std::vector<server::event>& to, std::vector<server::event> newest,
                      history_query const& q) {
  auto const written = !to.empty() ? to.back().at : q.passed > 0 ? q.place.at : core::time_point{};
  bool const complete = newest.size() < q.limit || newest.front().at <= written;
  if (!complete && !to.empty()) return;  // events between disk and memory would be missing
  auto const same_time =
      std::find_if(to.begin(), to.end(), [&](auto const& e) { return e.at == written; });
  std::vector<server::event> const last(same_time, to.end());
  for (auto& e : newest) {
    if (to.size() == q.limit) return;
    bool const is_new =
        e.at > written ||
        (e.at == written && q.passed == 0 &&
         std::none_of(last.begin(), last.end(), [&](auto const& w) { return equal(e, w); }));
    if (is_new) to.push_back(std::move(e));
  }
}

coro::task<response> past_events(web_context& context, exchange& ex, query_check& query) {
  history_query q;
  if (auto const wrong = read_history_query(query, q)) return refused(*wrong);
  auto prepare = [q, filter = event_filter(query),
                  scope = scope_of(context, ex.req)](engine_services& services) {
    auto const first = services.events.first(), last = services.events.last();
    auto newest = services.events.newest(0, q.limit, [&](server::event const& e) {
      return q.takes(e.at) && sees(*scope, services.pools, e.what) && filter.takes(e.what);
    });
    return [=, newest = std::move(newest),
            may = visible_clusters(services, scope)](server::history_store const& store) {
      auto page = read_page(
          store, server::history_kind::events, q, server::events_from, [&](server::event const& e) {
            return q.takes(e.at) &&
                   (scope->sees(e.what) || (!e.what.cluster.empty() && may(e.what.cluster))) &&
                   filter.takes(e.what);
          });
      if (page.next.empty()) append_unwritten(page.items, newest, q);
      return events_at{std::move(page.items), first, last, std::move(page.next)};
    };
  };
  return answer_from_history<events_at>(context, ex, std::move(prepare), as_json());
}

coro::task<response> list_events(web_context& context, exchange& ex) {
  query_check query(ex.req);
  bool const by_time = has_time_range(query);
  if (by_time && !query.text("after").empty())
    return refused(impossible("after", "'after' cannot be combined with 'from_ms' or 'to_ms'"));
  if (by_time && keeps_history(context)) return past_events(context, ex, query);
  history_query q;
  if (auto const wrong = read_history_query(query, q)) return refused(*wrong);
  auto const limit = query.limit();
  constexpr auto newest = UINT64_MAX;
  auto const after = query.number("after", newest);
  auto work = [after, limit, filter = event_filter(query), q, by_time,
               scope = scope_of(context, ex.req)](engine_services& services) {
    auto const& log = services.events;
    events_at e;
    e.first = log.first();
    e.last = log.last();
    // Searches all events in memory, at most 10,000.
    auto const fits = [&](server::event const& one) {
      return q.takes(one.at) && sees(*scope, services.pools, one.what) && filter.takes(one.what);
    };
    bool const all = scope->whole() && !by_time && filter.is_empty();
    if (all && after != newest)
      e.events = log.after(after, limit);
    else
      e.events = log.newest(after != newest ? after : 0, limit, fits);
    return e;
  };
  return respond_with(context, std::move(work));
}

}  // namespace

void add_event_routes(std::vector<route>& to) {
  static constexpr auto severities = all_names<core::coordination::severity>();
  to.push_back(
      get("/api/v1/events", list_events, "listEvents",
          "List events, oldest first; events before `first` are only on disk; use from_ms or to_ms "
          "to get them in pages")
          .with({{"after", query_kind::number,
                  "only events with a greater number; default: the newest events"},
                 {"subject", query_kind::text, "only events about this task, barrier or worker"},
                 choice_parameter("severity", severities, "only events of this severity"),
                 {"kind", query_kind::text, "only events of this kind, such as server_started"},
                 from_parameter,
                 to_parameter,
                 limit_parameter,
                 history_token_parameter})
          .responds_with("Events", schema_of<events_at>)
          .also(422, "to_ms is before from_ms, or `after` is combined with a time")
          .also(429, "Too many history requests are waiting"));
}

}  // namespace muster::web
