// The task stream, and the last hour of a task. Long responses are read from the engine in steps
// for at most a quarter of a second; clients continue from `next`.
#include "server/core/queries/worker_queries.hpp"
#include "server/history/activity/activity_pages.hpp"
#include "web/rest/answers.hpp"
#include "web/rest/caller_check.hpp"
#include "web/rest/cluster_access.hpp"
#include "web/rest/history/history_charts.hpp"
#include "web/rest/stream_query.hpp"

namespace muster::web {

namespace {

using clock = std::chrono::steady_clock;

constexpr std::uint64_t spans_default = 50'000, spans_max = 50'000;
constexpr std::size_t running_max = 20'000, minutes_max = 100'000;
constexpr std::chrono::milliseconds gathered_for{250};

class stream_gathering {
 public:
  stream_gathering(web_context& context, stream_query query, std::uint64_t after, std::size_t limit)
      : context_(context), query_(std::move(query)), limit_(limit) {
    answer_.next = after;
  }

  coro::task<response> run() {
    bool const first = answer_.next == 0;
    auto done = co_await gather_spans();
    if (done.ok() && query_.filter.to >= answer_.now) {
      done = co_await gather_running();
    }
    if (done.ok() && first && evicted_ && query_.filter.from < answer_.since) {
      done = co_await gather_minutes();
    }
    if (!done.ok()) co_return problem_response(done);
    co_return json_response(to_text(answer_));
  }

 private:
  bool over() const { return clock::now() - begun_ > gathered_for; }

  coro::task<muster::status> gather_spans() {
    do {
      struct looked {
        core::span_page page;
        core::time_point now;
        std::string cluster;
      };
      auto work = [f = query_.filter, from = answer_.next,
                   limit = limit_ - answer_.spans.size()](server::hub& h) {
        return looked{history::spans(h.past(), f, from, limit, h.now()), h.now(), h.cluster()};
      };
      auto got = co_await query_.ask(context_, std::move(work));
      if (!got) co_return got.error();
      auto& page = got->page;
      answer_.now = got->now;
      answer_.cluster = std::move(got->cluster);
      answer_.since = page.complete_since;
      evicted_ = !page.all;
      answer_.next = page.next;
      answer_.more = page.more;
      answer_.take(std::move(page.names));
      answer_.spans.insert(answer_.spans.end(), page.spans.begin(), page.spans.end());
    } while (answer_.more && answer_.spans.size() < limit_ && !over());
    co_return muster::status{};
  }

  // Appends approximately `most` rows or fewer.
  template <class Page, class Row, class Look>
  coro::task<muster::status> gather(std::vector<Row> Page::*rows, std::vector<Row>& into,
                                    std::size_t most, Look look) {
    std::optional<core::lane_key> after;
    do {
      auto work = [look, after](server::hub& h) { return look(h, after); };
      auto page = co_await query_.ask(context_, std::move(work));
      if (!page) co_return page.error();
      after = std::move(page->next);
      answer_.take(std::move(page->names));
      auto const& some = (*page).*rows;
      into.insert(into.end(), some.begin(), some.end());
    } while (after && into.size() < most && !over());
    co_return muster::status{};
  }

  coro::task<muster::status> gather_running() {
    auto look = [f = query_.filter](server::hub& h, std::optional<core::lane_key> const& after) {
      return history::running(h.past(), h.state(), f, after);
    };
    return gather(&core::running_page::running, answer_.running, running_max, std::move(look));
  }

  // Adds per-minute rows for times at which spans are missing or incomplete.
  coro::task<muster::status> gather_minutes() {
    auto filter = query_.filter;
    filter.job = {};
    filter.from = std::max(filter.from, answer_.now - stream_history);
    filter.to = std::min(filter.to, answer_.since);
    auto look = [filter](server::hub& h, std::optional<core::lane_key> const& after) {
      return history::minutes(h.past(), h.state(), filter, after, h.now());
    };
    return gather(&core::minute_page::minutes, answer_.minutes, minutes_max, std::move(look));
  }

  web_context& context_;
  stream_query const query_;
  std::size_t const limit_;
  clock::time_point const begun_ = clock::now();
  stream_answer answer_;
  bool evicted_ = false;
};

coro::task<response> get_stream(web_context& context, exchange& ex) {
  query_check query(ex.req);
  stream_query parsed;
  if (auto const wrong = parse_stream_query(query, parsed)) co_return problem_response(*wrong);
  auto const after = query.number("after", 0);
  auto const limit = query.number("limit", spans_default);
  stream_gathering gathering(context, std::move(parsed), after, limit);
  co_return co_await gathering.run();
}

coro::task<response> get_history(web_context& context, exchange& ex) {
  return with_task(ex, [&](core::lane_key const& at) {
    auto work = [at](engine_services& services,
                     coordination::cluster_id c) -> muster::result<worker_history> {
      if (auto* const h = services.pools.existing(c)) {
        core::activity_filter f;
        f.from = h->now() - stream_history;
        f.lanes = {at};
        worker_history all{history::minutes(h->past(), h->state(), f, {}, h->now()).minutes,
                           h->now(), h->past().durations().course(at, h->now()),
                           h->past().durations().of(at, h->now())};
        if (!all.minutes.empty() || h->state().workers().find(at.first, at.second)) return all;
      }
      return muster::status{muster::code::not_found,
                            "there is no worker " + at.first + ":" + std::to_string(at.second) +
                                " in cluster '" + services.coordination.state().spec(c).name + "'"};
    };
    return respond_with(context, in_cluster(ex, std::move(work)));
  });
}

// History charts exist only for the whole server, not for subsets of its clusters.
coro::task<response> history_charts(web_context& context, exchange& ex, query_check& query) {
  if (!keeps_history(context)) return refused(no_history_problem());
  if (!scope_of(context, ex.req)->whole())
    return refused(make_problem(403, code::permission_denied,
                                "charts of past periods cover the whole server, but the token is "
                                "limited to certain clusters; use a token without --cluster"));
  history_query q;
  if (auto const wrong = read_history_query(query, q)) return refused(*wrong);
  auto const steps = static_cast<std::size_t>(query.number("steps", steps_default));
  auto prepare = [q, steps](engine_services& services) {
    auto until = q;
    if (until.to == core::never) until.to = std::max(until.from, services.coordination.now());
    return [until, steps](server::history_store const& store) {
      return read_samples(store, until, steps);
    };
  };
  return answer_from_history<history_samples>(context, ex, std::move(prepare), as_json());
}

coro::task<response> get_samples(web_context& context, exchange& ex) {
  query_check query(ex.req);
  if (has_time_range(query)) return history_charts(context, ex, query);
  auto const span = query.text("span");
  return answered(json_response(object_line([&](member_list const& m) {
    static sample_history const none;
    auto const* const samples = context.sockets.samples(*scope_of(context, ex.req));
    (samples ? *samples : none).say(m, span.empty() ? sample_history::spans[0] : span);
  })));
}

}  // namespace

void add_stream_routes(std::vector<route>& to) {
  constexpr std::string_view unknown = "No such cluster or job";
  constexpr std::string_view impossible =
      "to_ms is before from_ms, or `tasks` contains too many tasks";
  auto stream = stream_parameters();
  stream.push_back({"after", query_kind::number, "`next` of the previous response"});
  stream.push_back(
      {"limit", query_kind::number, "maximum number of spans; default 50,000", 1, spans_max});
  to.push_back(get("/api/v1/stream", get_stream, "getStream",
                   "Get the past and current work of workers, as spans in columns")
                   .with(std::move(stream))
                   .responds_with("Stream", schema_of<stream_answer>)
                   .also(404, unknown)
                   .also(422, impossible));
  to.push_back(get("/api/v1/stream/trace", stream_trace, "getStreamTrace",
                   "Get the work of workers as trace events for Perfetto and Chrome")
                   .with(stream_parameters())
                   .responds_with("Trace", trace_json::schema)
                   .also(404, unknown)
                   .also(422, impossible));
  to.push_back(get("/api/v1/jobs/{id}/trace", job_trace, "getJobTrace",
                   "Get the attempts of a job as trace events for Perfetto and Chrome")
                   .responds_with("Trace"));
  to.push_back(get("/api/v1/clusters/{cluster}/tasks/{job}/{index}/history", get_history,
                   "getTaskHistory", "Get a worker's history for the last hour, by minute")
                   .responds_with("TaskHistory", schema_of<worker_history>));
  to.push_back(
      get("/api/v1/samples", get_samples, "getSamples",
          "Get the server's metrics over time, with one point per second, 10 seconds or minute")
          .with({choice_parameter("span", sample_history::spans,
                                  "length of the period up to now; default 5m"),
                 from_parameter,
                 to_parameter,
                 {"steps", query_kind::number,
                  "maximum number of points with from_ms or to_ms; default 300", 1, steps_max}})
          .responds_with("Samples", schema_of<history_samples>)
          .also(409, "With from_ms or to_ms: the server does not store history")
          .also(422, "to_ms is before from_ms")
          .also(429, "Too many history requests are waiting"));
}

}  // namespace muster::web
