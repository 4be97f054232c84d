// Appends closures to an open job, either a whole JSON array, or NDJSON of any length in batches. A
// batch is accepted completely or not at all. If a batch is rejected, earlier batches remain
// accepted. Error responses also contain the number of accepted closures.
#include <algorithm>
#include <charconv>

#include "base/text.hpp"
#include "server/hub/id_parsing.hpp"
#include "web/http/query.hpp"
#include "web/rest/answers.hpp"
#include "web/rest/caller_check.hpp"
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
  auto const now = co_await schedule(context, ex.req.who, job, std::move(closures), first);
  if (!now) co_return problem_response(submission_problem(now.error()));
  co_return accepted_response(*now, now->closures.size(), true);
}

/// Passes full batches to the engine as lines arrive.
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
    // An empty batch is also sent, because the engine checks that the job exists and is open.
    if (auto p = co_await flush()) co_return refused(std::move(*p));
    co_return accepted_response(last_, accepted_, false);
  }

 private:
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
    auto const functions = batch_.names().size();
    read_closure(check, item, batch_);
    batch_bytes_ += line.size();
    lines_.push_back(line_);
    if (check.failed()) return check.failure();
    if (batch_.names().size() > functions) return check_function(ex_.req, batch_.names().back());
    return {};
  }

  coro::task<std::optional<problem>> flush() {
    auto const n = batch_.closures().size();
    auto const first = first_ ? position(*first_ + accepted_) : position();
    auto a = co_await schedule(context_, ex_.req.who, job_, std::move(batch_), first);
    batch_.clear();
    batch_bytes_ = 0;
    auto const lines = std::exchange(lines_, {});
    if (!a) co_return of_lines(submission_problem(a.error()), lines);
    accepted_ += n;
    last_ = std::move(*a);
    co_return std::nullopt;
  }

  /// Adds the line number of the closure that caused the problem, or of the first line that was not
  /// accepted.
  problem of_lines(problem p, std::vector<std::uint64_t> const& lines) const {
    p.line = lines.empty() ? line_ : lines.front();
    std::size_t at = 0;
    constexpr std::string_view list = "closures[";
    auto const end = p.field.find("].");
    if (!p.field.starts_with(list) || end == std::string::npos) return p;
    auto const* const digits = p.field.data() + list.size();
    if (std::from_chars(digits, p.field.data() + end, at).ec != std::errc() || at >= lines.size())
      return p;
    p.line = lines[at];
    p.detail.erase(0, end + 2);
    p.field.erase(0, end + 2);
    return p;
  }

  problem too_long() const {
    auto const limit = std::to_string(context_.options.body_limit_bytes) + " bytes";
    return make_problem(413, muster::code::invalid_argument, "the line is longer than " + limit, {},
                        limit);
  }

  response refused(problem p) const {
    if (!p.line) p.line = line_;
    p.detail = "line " + std::to_string(*p.line) + ": " + p.detail;
    p.accepted = accepted_;
    return problem_response(p);
  }

  web_context& context_;
  exchange& ex_;
  core::session_id const job_;
  position const first_;
  std::string pending_;
  std::size_t searched_ = 0;  // no line ends before this position
  server::submission batch_;
  std::size_t batch_bytes_ = 0;
  std::vector<std::uint64_t> lines_;
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
