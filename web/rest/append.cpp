// Appending to an open job: a JSON array as one piece, or NDJSON of any length in chunks. A chunk
// is accepted as a whole or not at all; chunks before it stay. The answer counts what was accepted,
// also when it is a problem.
#include <algorithm>

#include "base/text.hpp"
#include "server/hub/id_text.hpp"
#include "web/http/query.hpp"
#include "web/rest/access.hpp"
#include "web/rest/answers.hpp"
#include "web/rest/submit.hpp"

namespace muster::web {

namespace {

constexpr std::size_t chunk_closures_max = 1000;
constexpr std::size_t chunk_bytes_max = 4 << 20;

response accepted_response(scheduled const& now, std::uint64_t accepted, bool with_ids) {
  return object_response(appended_members, now, accepted, with_ids);
}

using position = std::optional<std::uint64_t>;

coro::task<response> append_array(web_context& context, exchange& ex, core::session_id job,
                                  position first) {
  json_check check;
  json_ref const body(ex.req.body);
  server::submission closures;
  read_closures(check, body, closures);
  if (check.failed()) co_return problem_response(check.failure());
  if (auto const p = check_functions(ex.req, closures)) co_return problem_response(*p);
  if (auto const p = co_await check_room(context, ex.req, 0, closures.closures().size()))
    co_return problem_response(*p);
  auto const now = co_await schedule(context, job, std::move(closures), first);
  if (!now) co_return problem_response(submission_problem(now.error()));
  co_return accepted_response(*now, now->closures.size(), true);
}

/// NDJSON as it arrives: lines are parsed into a batch, full batches are handed to the engine.
class line_appender {
 public:
  line_appender(web_context& context, exchange& ex, core::session_id job, position first)
      : context_(context), ex_(ex), job_(job), first_(first) {}

  coro::task<response> run() {
    for (;;) {
      auto piece = co_await ex_.read_some();
      if (!piece) co_return refused(to_problem(piece.error()));
      if (piece->empty()) break;
      pending_ += *piece;
      if (auto p = co_await take_lines()) co_return refused(std::move(*p));
    }
    if (auto p = parse(pending_)) co_return refused(std::move(*p));
    // Also when empty: it tells whether the job is there and open.
    if (auto p = co_await flush()) co_return refused(std::move(*p));
    co_return accepted_response(last_, accepted_, false);
  }

 private:
  // Parses the whole lines of `pending_`; leaves the beginning of the next one in it.
  coro::task<std::optional<problem>> take_lines() {
    std::size_t from = 0;
    for (auto end = pending_.find('\n', searched_); end != std::string::npos;
         end = pending_.find('\n', from)) {
      if (auto p = parse(std::string_view(pending_).substr(from, end - from))) co_return p;
      from = end + 1;
      if (batch_.closures().size() < chunk_closures_max && batch_bytes_ < chunk_bytes_max) continue;
      if (auto p = co_await flush()) co_return p;
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
    auto const n = batch_.closures().size();
    if (auto p = check_functions(ex_.req, batch_)) co_return p;
    if (auto p = co_await check_room(context_, ex_.req, 0, n)) co_return p;
    auto const first = first_ ? position(*first_ + accepted_) : position();
    auto a = co_await schedule(context_, job_, std::move(batch_), first);
    batch_.clear();
    batch_bytes_ = 0;
    if (!a) co_return submission_problem(a.error());
    accepted_ += n;
    last_ = std::move(*a);
    co_return std::nullopt;
  }

  problem too_long() const {
    auto const limit = std::to_string(context_.options.body_limit_bytes) + " bytes";
    return make_problem(413, muster::code::invalid_argument, "longer than " + limit, {}, limit);
  }

  response refused(problem p) const {
    p.detail = "line " + std::to_string(line_) + ": " + p.detail;
    p.line = line_;
    p.accepted = accepted_;
    return problem_response(p);
  }

  web_context& context_;
  exchange& ex_;
  core::session_id const job_;
  position const first_;
  std::string pending_;
  std::size_t searched_ = 0;  // no line ends before this
  server::submission batch_;
  std::size_t batch_bytes_ = 0;
  std::uint64_t line_ = 0, accepted_ = 0;
  scheduled last_;
};

coro::task<response> append_lines(web_context& context, exchange& ex, core::session_id job,
                                  position first) {
  line_appender lines(context, ex, job, first);
  co_return co_await lines.run();
}

}  // namespace

coro::task<response> append_closures(web_context& context, exchange& ex) {
  position first;
  if (!query_check(ex.req).text("first").empty()) first = query_check(ex.req).number("first", 0);
  return with_id(ex, "job", server::parse_job, [&](core::session_id id) {
    bool const by_line = lower(ex.req.content_type).starts_with("application/x-ndjson");
    return by_line ? append_lines(context, ex, id, first) : append_array(context, ex, id, first);
  });
}

}  // namespace muster::web
