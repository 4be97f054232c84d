// Streams trace events in chunks of about 64 KiB. The next page is read only after the previous
// chunk has been sent.
#include <algorithm>
#include <memory>

#include "base/text.hpp"
#include "server/core/queries/closure_queries.hpp"
#include "server/core/queries/session_queries.hpp"
#include "server/core/texts/attempt_texts.hpp"
#include "server/history/activity/activity_pages.hpp"
#include "server/hub/id_parsing.hpp"
#include "web/rest/answers.hpp"
#include "web/rest/stream_query.hpp"

namespace muster::web {

namespace {

constexpr std::size_t trace_piece_bytes = 64 * 1024;
constexpr std::size_t tasks_max = 100;
constexpr std::string_view several = "several functions";

class trace_stream {
 public:
  trace_stream(web_context& context, exchange& ex, std::string file)
      : context_(context), ex_(ex), file_(std::move(file)) {}
  virtual ~trace_stream() = default;

  coro::task<response> run() {
    auto more = co_await page();
    // No headers have been sent yet.
    if (!more) co_return problem_response(more.error());
    response head;
    head.headers.emplace_back("Content-Disposition", "attachment; filename=\"" + file_ + "\"");
    bool alive = co_await ex_.begin_stream(std::move(head));
    while (alive && more && *more && !ex_.stopping()) {
      alive = co_await send_if_large();
      if (!alive) break;
      more = co_await page();
    }
    bool whole = alive && more && !*more;
    if (whole) {
      trace_.end();
      whole = co_await ex_.write_piece(trace_.take());
    }
    co_return co_await end_stream(ex_, whole);
  }

 protected:
  /// Returns whether another page follows.
  virtual coro::task<muster::result<bool>> page() = 0;

  web_context& context_;
  exchange& ex_;
  trace_json trace_;

 private:
  coro::task<bool> send_if_large() {
    if (trace_.size() < trace_piece_bytes) co_return true;
    co_return co_await ex_.write_piece(trace_.take());
  }

  std::string const file_;
};

class spans_trace final : public trace_stream {
 public:
  spans_trace(web_context& context, exchange& ex, stream_query query, std::string file)
      : trace_stream(context, ex, std::move(file)), query_(std::move(query)) {}

 private:
  static constexpr std::size_t spans_a_page = 2'000;

  struct looked {
    core::span_page page;
    core::time_point now;
    std::string cluster;
  };

  coro::task<muster::result<bool>> page() override {
    auto work = [f = query_.filter, from = next_](server::hub& h) {
      return looked{history::spans(h.past(), f, from, spans_a_page, h.now()), h.now(),
                    h.state().configuration().cluster};
    };
    auto got = co_await query_.ask(context_, std::move(work));
    if (!got) co_return got.error();
    // Without this limit, the trace would never end while new spans are added.
    if (query_.filter.to == core::never) query_.filter.to = got->now;
    next_ = got->page.next;
    add(*got);
    co_return got->page.more;
  }

  void add(looked const& l) {
    std::map<core::function_id, std::string> functions;
    std::map<std::uint32_t, std::string> tasks;
    for (auto const& [f, name] : l.page.names.functions) functions.emplace(f, name);
    for (auto const& lane : l.page.names.lanes)
      tasks.emplace(lane.lane, lane.job + ":" + std::to_string(lane.index));
    for (auto const& b : l.page.spans) {
      trace_json::span s;
      s.name = b.function == core::several_functions ? several : functions.at(b.function);
      s.category = b.closure == core::closure_id{} ? "sum" : "closure";
      s.started = b.started;
      s.lasted = b.lasted;
      s.state = name(b.state);
      s.closure = b.closure;
      s.job = b.job;
      s.count = b.count;
      s.failed = b.failed;
      trace_.add(l.cluster, tasks.at(b.lane), s);
    }
  }

  stream_query query_;
  std::uint64_t next_ = 0;
};

// Writes all attempts, including short attempts, which spans only summarise.
class closures_trace final : public trace_stream {
 public:
  closures_trace(web_context& context, exchange& ex, core::session_id job, std::string file)
      : trace_stream(context, ex, std::move(file)), job_(job) {}

 private:
  static constexpr std::size_t closures_a_page = 500;

  struct looked {
    core::page<core::closure_view, std::uint32_t> page;
    core::time_point now;
  };

  coro::task<muster::result<bool>> page() override {
    auto work = [job = job_, from = next_](server::hub& h) -> muster::result<looked> {
      auto page = h.state().closures().list(job, from, closures_a_page);
      if (!page) return page.error();
      return looked{std::move(*page), h.now()};
    };
    auto got = co_await context_.engine.on_engine(in_pool_of(job_, std::move(work)));
    if (!got) co_return got.error();
    for (auto const& c : got->page.items)
      for (auto const& a : c.attempts) add(c, a, got->now);
    next_ = got->page.next.value_or(next_);
    co_return got->page.next.has_value();
  }

  static std::string_view state_of(core::attempt_end how) {
    switch (how) {
      case core::attempt_end::running:
        return "RUNNING";
      case core::attempt_end::succeeded:
      case core::attempt_end::value_lost:
        return name(core::span_state::succeeded);
      case core::attempt_end::cancelled:
        return name(core::span_state::cancelled);
      case core::attempt_end::worker_lost:
      case core::attempt_end::connection_broke:
      case core::attempt_end::not_there:
        return name(core::span_state::lost);
      default:
        return name(core::span_state::failed);
    }
  }

  void add(core::closure_view const& c, core::attempt_view const& a, core::time_point now) {
    trace_json::span s;
    s.name = c.display_name.empty() ? c.function : c.display_name;
    s.started = a.started;
    auto const ended = a.ended == core::time_point{} ? now : a.ended;
    s.lasted = std::max(core::duration{}, ended - a.started);
    s.state = state_of(a.outcome.how);
    s.closure = c.id;
    s.job = c.job;
    bool const last = a.attempt == c.attempts.back().attempt;
    // `s` refers to this text.
    auto const outcome = last ? std::string() : text(a.outcome);
    s.error = last && c.error ? std::string_view(c.error->message) : outcome;
    trace_.add(a.host.empty() ? "workers" : a.host, a.worker, s);
  }

  core::session_id const job_;
  std::uint32_t next_ = 0;
};

std::optional<core::lane_key> lane_named(std::string_view text) {
  auto const colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return {};
  auto const index = parse_number(text.substr(colon + 1));
  if (!index || *index > INT64_MAX) return {};
  return core::lane_key{text.substr(0, colon), static_cast<std::int64_t>(*index)};
}

core::time_point time_of(std::uint64_t ms) {
  return core::time_point(std::chrono::milliseconds(static_cast<std::int64_t>(ms)));
}

// This time is in the year 33658.
constexpr std::uint64_t ms_max = 1'000'000'000'000'000;

}  // namespace

std::vector<query_parameter> stream_parameters() {
  return {{"from_ms", query_kind::number, "only work that ended at or after this time; Unix ms", 0,
           ms_max},
          {"to_ms", query_kind::number, "only work that began at or before this time; Unix ms", 0,
           ms_max},
          {.name = "tasks",
           .kind = query_kind::text,
           .meaning = "only these tasks, such as worker:0,worker:3; at most 100",
           .pattern = R"(^[^,]+:[0-9]{1,18}(,[^,]+:[0-9]{1,18})*,?$)"},
          {"job", query_kind::text, "only closures of this job and its cluster"},
          cluster_parameter};
}

std::optional<problem> parse_stream_query(query_check& query, stream_query& into) {
  into.cluster = query.text("cluster");
  auto& f = into.filter;
  f.from = time_of(query.number("from_ms", 0));
  if (!query.text("to_ms").empty()) f.to = time_of(query.number("to_ms", 0));
  if (f.to < f.from) return impossible("to_ms", "must not be earlier than 'from_ms'");
  if (auto const job = query.text("job"); !job.empty()) {
    auto const id = server::parse_job(job);
    if (!id || *id == core::session_id{}) return unknown_id("job", job);
    f.job = *id;
  }
  for (auto rest = query.text("tasks"); !rest.empty();) {
    auto const comma = std::min(rest.find(','), rest.size());
    auto const task = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    auto lane = lane_named(task);
    if (!lane)
      return invalid("tasks",
                     "expected tasks such as worker:0,worker:3, got '" + std::string(task) + "'");
    f.lanes.push_back(std::move(*lane));
    if (f.lanes.size() > tasks_max)
      return impossible(
          "tasks",
          "contains more than " + std::to_string(tasks_max) + " tasks; request fewer tasks",
          std::to_string(tasks_max) + " tasks");
  }
  std::sort(f.lanes.begin(), f.lanes.end());
  return {};
}

coro::task<response> stream_trace(web_context& context, exchange& ex) {
  query_check query(ex.req);
  stream_query parsed;
  if (auto const wrong = parse_stream_query(query, parsed)) co_return problem_response(*wrong);
  spans_trace trace(context, ex, std::move(parsed), "muster-trace.json");
  co_return co_await trace.run();
}

coro::task<response> job_trace(web_context& context, exchange& ex) {
  auto const text = ex.req.capture("id");
  auto const id = server::parse_job(text);
  if (!id) co_return problem_response(unknown_id("job", text));
  auto looking = [job = *id](server::hub& h) { return h.state().sessions().find(job); };
  auto const job = co_await context.engine.on_engine(in_pool_of(*id, std::move(looking)));
  if (!job) co_return problem_response(job.error());
  auto file = std::string(text) + "-trace.json";
  std::unique_ptr<trace_stream> trace;
  if (job->streaming) {  // a streaming job deletes its closures when they end
    stream_query query;
    query.filter.job = *id;
    trace = std::make_unique<spans_trace>(context, ex, std::move(query), std::move(file));
  } else {
    trace = std::make_unique<closures_trace>(context, ex, *id, std::move(file));
  }
  co_return co_await trace->run();
}

}  // namespace muster::web
