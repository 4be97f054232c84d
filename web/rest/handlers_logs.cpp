#include "server/hub/id_parsing.hpp"
#include "web/live/log_page_reading.hpp"
#include "web/rest/answers.hpp"

namespace muster::web {

namespace {

constexpr std::uint64_t no_number = UINT64_MAX;

struct log_query {
  std::uint64_t after = 0;
  std::size_t limit = 0;
  bool newest = false;
  std::chrono::milliseconds wait{};
};

using log_answer = muster::result<log_state>;

log_answer lines(server::hub& h, server::log_target of, log_query const& q) {
  return read_log_page(h, of, q.after, q.limit, q.newest);
}

// Waits in the log store for a line, and in the core for the closure's end or the deadline. The
// first wait to complete removes the other wait.
struct log_wait {
  server::log_store::wait_id line{};
  core::call_id end{};
};

template <class Event>
void wait_for_line(server::hub& h, server::log_target of, log_query const& q, Event event,
                   answer_handle<log_answer> const& slot) {
  auto const both = std::make_shared<log_wait>();
  both->line = h.logs().wait(of, [&h, of, q, slot, both] {
    h.forget(both->end);
    slot->send(lines(h, of, q));
  });
  event.deadline = h.now() + q.wait;
  both->end = h.ask(event, [&h, of, q, slot, both](core::reply const& r) {
    h.logs().forget(both->line);
    bool const refused = r.status.code == muster::code::resource_exhausted ||
                         r.status.code == muster::code::unavailable;
    refused ? slot->send(r.status) : slot->send(lines(h, of, q));
  });
  slot->when_left([both](engine_services& services) {
    services.pools.for_each([line = both->line](server::hub& each) { each.logs().forget(line); });
    services.pools.forget(both->end);
  });
}

template <class Id>
void answer_log(server::hub& h, Id id, log_query const& q, answer_handle<log_answer> const& slot) {
  auto const of = log_target_of(h, id);
  if (!of) return slot->send(of.error());
  auto now = lines(h, *of, q);
  if (!now || !now->page.lines.empty() || now->ended || q.wait.count() == 0)
    return slot->send(std::move(now));
  if (of->closure == core::closure_id{})
    wait_for_line(h, *of, q, core::join_session{{}, of->job, {}}, slot);
  else
    wait_for_line(h, *of, q, core::await_value{{}, of->closure, {}}, slot);
}

void log_page_members(member_list const& m, log_state const& s, std::uint64_t after) {
  m("lines", s.page.lines);
  m("after", s.page.lines.empty() ? after : s.page.lines.back().seq);
  m("dropped", s.page.dropped);
  m("ended", s.ended);
}

log_query read_query(query_check& query) {
  log_query q;
  auto const after = query.number("after", no_number);
  auto const tail = query.number("tail", no_number);
  q.limit = query.limit();
  q.wait = query.duration("wait", {});
  if (after != no_number) q.after = after;
  if (tail == no_number) return q;
  q.newest = true;
  q.limit = static_cast<std::size_t>(tail);
  return q;
}

template <class Id>
coro::task<response> list_lines(web_context& context, exchange& ex, Id id) {
  query_check query(ex.req);
  if (!query.text("tail").empty() && !query.text("after").empty())
    return refused(impossible("tail", "'tail' cannot be combined with 'after'"));
  auto const q = read_query(query);
  auto work = [id, q](server::hub& h, answer_handle<log_answer> const& slot) {
    answer_log(h, id, q, slot);
  };
  auto tell = [after = q.after](log_state const& s) {
    return object_response(log_page_members, s, after);
  };
  return wait<log_state>(context, ex, q.wait, in_pool_of(id, std::move(work)), tell);
}

coro::task<response> list_closure_lines(web_context& context, exchange& ex) {
  return with_id(ex, "closure", server::parse_closure,
                 [&](core::closure_id id) { return list_lines(context, ex, id); });
}

coro::task<response> list_job_lines(web_context& context, exchange& ex) {
  return with_id(ex, "job", server::parse_job,
                 [&](core::session_id id) { return list_lines(context, ex, id); });
}

route log_route(std::string_view pattern, handler run, std::string_view id,
                std::string_view summary) {
  return std::move(
      get(pattern, run, id, summary)
          .with({{"after", query_kind::number,
                  "only lines with a greater number; use `after` of the previous response"},
                 {"tail", query_kind::number,
                  "number of newest lines to return; cannot be combined with `after`", 1, page_max},
                 limit_parameter,
                 {"wait", query_kind::duration,
                  "how long to wait for a new line or the end of the log, at most 10m"}})
          .responds_with("LogLines", schema_of_members<log_page_members>)
          .also(422, "`tail` and `after` are combined")
          .also(429, "The server has reached its limit on waiting calls"));
}

}  // namespace

void add_log_routes(std::vector<route>& to) {
  to.push_back(log_route("/api/v1/closures/{id}/logs", list_closure_lines, "listClosureLogs",
                         "Get the log and output of a closure, including all its attempts"));
  to.push_back(log_route("/api/v1/jobs/{id}/logs", list_job_lines, "listJobLogs",
                         "Get the log and output of all closures of a job, in order of arrival"));
}

}  // namespace muster::web
