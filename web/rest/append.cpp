// Appending to an open job: a JSON array as one piece, or NDJSON of any length in chunks. A chunk
// is accepted as a whole or not at all; chunks before it stay. The answer counts what was accepted,
// also when it is a problem.
#include <algorithm>

#include "web/json/id_text.hpp"
#include "web/json/views_json.hpp"
#include "web/rest/handlers.hpp"
#include "web/rest/submission.hpp"

namespace muster::web {

namespace {

constexpr std::size_t chunk_closures_max = 1000;
constexpr std::size_t chunk_bytes_max = 4 << 20;

struct appended {
  core::job_view view;
  std::vector<core::closure_id> closures;
};

coro::task<muster::result<appended>> schedule(web_context& context, core::session_id job,
                                              closure_batch batch) {
  using result = muster::result<appended>;
  auto const shared = std::make_shared<closure_batch>(std::move(batch));
  auto work = [shared, job](server::hub& h, answer_handle<result> const& slot) {
    auto const functions = h.learn(shared->names);
    if (!functions.status.ok()) return slot->send(functions.status);
    shared->number(functions.ids);
    core::schedule e;
    e.session = job;
    e.closures = std::move(shared->closures);
    h.ask(std::move(e), [&h, slot, job](core::reply const& r) {
      if (!r.status.ok()) return slot->send(r.status);
      auto view = h.state().job(job);
      if (!view) return slot->send(view.error());
      appended a;
      a.view = std::move(*view);
      a.closures = std::get<core::session_reply>(r.body).closures;
      slot->send(std::move(a));
    });
  };
  auto asking =
      context.engine.call<result>(std::move(work), context.options.timeouts.engine, nullptr);
  co_return co_await std::move(asking);
}

std::string appended_text(appended const& a, std::uint64_t accepted, bool with_ids) {
  std::string text;
  json_out out(text);
  out.begin_object();
  out.key("id").string(job_text(a.view.id));
  out.key("state").string(core::name(a.view.state));
  out.key("counts");
  write(out, a.view.counts);
  out.key("accepted").number(accepted);
  if (with_ids) {
    out.key("closures").begin_array();
    for (auto const id : a.closures) {
      out.begin_object();
      out.key("id").string(closure_text(id));
      out.key("remote_value").string(value_text(id));
      out.end_object();
    }
    out.end_array();
  }
  out.end_object();
  text += '\n';
  return text;
}

coro::task<response> append_array(web_context& context, exchange& ex, core::session_id job) {
  json_check check;
  json_ref const body(ex.req.body);
  closure_batch batch;
  read_closures(check, body, batch);
  if (check.failed()) co_return problem_response(check.failure());
  auto asking = schedule(context, job, std::move(batch));
  auto const a = co_await std::move(asking);
  if (!a) co_return problem_response(a.error());
  co_return json_response(appended_text(*a, a->closures.size(), true));
}

/// NDJSON as it arrives: lines are parsed into a batch, full batches are handed to the engine.
class line_appender {
 public:
  line_appender(web_context& context, exchange& ex, core::session_id job)
      : context_(context), ex_(ex), job_(job) {}

  coro::task<response> run() {
    for (;;) {
      auto reading = ex_.read_some();
      auto piece = co_await std::move(reading);
      if (!piece) co_return refused(to_problem(piece.error()));
      if (piece->empty()) break;
      pending_ += *piece;
      auto taking = take_lines();
      if (auto p = co_await std::move(taking)) co_return refused(std::move(*p));
    }
    if (auto p = parse(pending_)) co_return refused(std::move(*p));
    auto flushing = flush();  // also when empty: it tells whether the job is there and open
    if (auto p = co_await std::move(flushing)) co_return refused(std::move(*p));
    co_return json_response(appended_text(last_, accepted_, false));
  }

 private:
  // Parses the whole lines of `pending_`; leaves the beginning of the next one in it.
  coro::task<std::optional<problem>> take_lines() {
    std::size_t from = 0;
    for (auto end = pending_.find('\n', searched_); end != std::string::npos;
         end = pending_.find('\n', from)) {
      if (auto p = parse(std::string_view(pending_).substr(from, end - from))) co_return p;
      from = end + 1;
      if (batch_.closures.size() < chunk_closures_max && batch_bytes_ < chunk_bytes_max) continue;
      auto flushing = flush();
      if (auto p = co_await std::move(flushing)) co_return p;
    }
    pending_.erase(0, from);
    searched_ = pending_.size();
    if (pending_.size() <= context_.options.body_limit_bytes) co_return std::nullopt;
    ++line_;
    co_return too_long();
  }

  std::optional<problem> parse(std::string_view line) {
    ++line_;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return {};
    if (auto p = check_json(line)) return p;
    json_check check;
    json_ref const item(line);
    read_closure(check, item, batch_);
    batch_bytes_ += line.size();
    if (check.failed()) return check.failure();
    return {};
  }

  coro::task<std::optional<problem>> flush() {
    auto const n = batch_.closures.size();
    auto asking = schedule(context_, job_, std::move(batch_));
    auto a = co_await std::move(asking);
    batch_.clear();
    batch_bytes_ = 0;
    if (!a) co_return to_problem(a.error());
    accepted_ += n;
    last_ = std::move(*a);
    co_return std::nullopt;
  }

  problem too_long() const {
    auto const limit = std::to_string(context_.options.body_limit_bytes) + " bytes";
    auto p = make_problem(413, muster::code::invalid_argument, "longer than " + limit);
    p.limit = limit;
    return p;
  }

  response refused(problem p) const {
    p.detail = "line " + std::to_string(line_) + ": " + p.detail;
    p.counts.emplace_back("line", line_);
    p.counts.emplace_back("accepted", accepted_);
    return problem_response(p);
  }

  web_context& context_;
  exchange& ex_;
  core::session_id const job_;
  std::string pending_;
  std::size_t searched_ = 0;  // no line ends before this
  closure_batch batch_;
  std::size_t batch_bytes_ = 0;
  std::uint64_t line_ = 0, accepted_ = 0;
  appended last_;
};

}  // namespace

coro::task<response> append_closures(web_context& context, exchange& ex) {
  auto const id = parse_job(ex.req.capture("id"));
  if (!id) co_return problem_response(unknown_id("job", ex.req.capture("id")));
  if (!ex.req.content_type.starts_with("application/x-ndjson")) {
    auto appending = append_array(context, ex, *id);
    co_return co_await std::move(appending);
  }
  line_appender lines(context, ex, *id);
  auto appending = lines.run();
  co_return co_await std::move(appending);
}

}  // namespace muster::web
