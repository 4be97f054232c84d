// The results of a job as NDJSON, in schedule order.
//
// Pages are read from the engine. Each page is converted in chunks of about 64 KiB, and a chunk is
// sent before the next one is built. A slow client therefore delays no other client, and a response
// is never completely in memory.
//
// With `wait=true`, the response stops at the first unfinished closure, waits for it, and reads
// again. Pages are small after each wait and grow while all their closures have finished.
#include "server/core/queries/closure_queries.hpp"
#include "server/core/queries/session_queries.hpp"
#include "server/hub/id_parsing.hpp"
#include "web/rest/answers.hpp"

namespace muster::web {

namespace {

constexpr std::size_t page_smallest = 32, page_largest = 500;
constexpr std::size_t result_piece_bytes = 64 * 1024;
// A JSON page ends with the result that exceeds this size.
constexpr std::size_t page_bytes = std::size_t{8} << 20;
// Maximum duration of one wait on the engine.
constexpr std::chrono::seconds wait_step{30};
// The engine cannot wait for appends to an open job.
constexpr std::chrono::milliseconds open_job_step{500};

struct result_page {
  core::page<core::closure_view, std::uint32_t> page;
  bool job_ended = false;
};

/// `read_back` is the value if the value was on disk.
void line_members(member_list const& m, core::closure_view const& c, core::blob const& read_back) {
  m("index", c.index);
  m("closure", c.id);
  m("remote_value", value_id{c.id});
  m("state", c.state);
  m.when(c.state == core::closure_state::succeeded && c.released.empty())
      .json("value", schema::any,
            [&](json_out& out) { write_value(out, c.spilled ? read_back : c.data); });
  m.some("released", c.released);
  m.some("error", c.error);
}

class result_stream {
 public:
  result_stream(web_context& context, exchange& ex, core::session_id job, std::uint32_t from,
                bool follow)
      : context_(context), ex_(ex), job_(job), follow_(follow), next_(from) {}

  coro::task<response> run() {
    auto page = co_await next_page();
    // Nothing has been sent yet.
    if (!page) co_return problem_response(page.error());
    response head;
    head.content_type = "application/x-ndjson";
    bool alive = co_await ex_.begin_stream(std::move(head));
    while (alive && page) {
      alive = co_await send(*page);
      if (!alive || finished(*page)) break;
      alive = co_await wait_for_more(*page);
      if (!alive) break;
      page = co_await next_page();
    }
    co_return co_await end_stream(ex_, alive && page && finished(*page));
  }

  coro::task<response> page(std::size_t limit) {
    limit_ = limit;
    auto p = co_await next_page();
    if (!p) co_return problem_response(p.error());
    std::string body = "{\"results\":[", text;
    bool full = false;
    for (auto c : p->page.items) {
      full = body.size() >= page_bytes;
      if (full) break;
      bool const told = co_await add_line(c, text);
      if (!told) co_return problem_response(late_value());
      text.pop_back();
      body += (body.ends_with('[') ? "" : ",") + std::exchange(text, {});
    }
    body += ']';
    if (full || p->page.next) body += ",\"next_page_token\":\"" + page_token('r', next_) + '"';
    co_return json_response(body + "}\n");
  }

 private:
  static problem late_value() {
    return make_problem(503, muster::code::unavailable,
                        "reading a value from disk timed out; try again");
  }

  coro::task<muster::result<result_page>> next_page() {
    auto work = [job = job_, from = next_,
                 limit = limit_](server::hub& h) -> muster::result<result_page> {
      auto page = h.state().closures().list(job, from, limit);
      if (!page) return page.error();
      result_page p;
      p.page = std::move(*page);
      if (auto const view = h.state().sessions().find(job)) p.job_ended = core::ended(view->state);
      return p;
    };
    co_return co_await context_.engine.on_engine(in_pool_of(job_, std::move(work)));
  }

  // With `wait=true`, stops at the first unfinished closure.
  coro::task<bool> send(result_page const& p) {
    std::string text;
    blocked_on_.reset();
    for (auto c : p.page.items) {
      if (follow_ && !core::ended(c.state)) {
        blocked_on_ = c.id;
        break;
      }
      bool const told = co_await add_line(c, text);
      if (!told) co_return false;
      if (text.size() < result_piece_bytes) continue;
      bool const written = co_await ex_.write_piece(std::exchange(text, {}));
      if (!written) co_return false;
    }
    limit_ = blocked_on_ ? page_smallest : std::min(limit_ * 4, page_largest);
    if (text.empty()) co_return true;
    co_return co_await ex_.write_piece(std::move(text));
  }

  // Returns false if the value was not read in time or the client has disconnected.
  coro::task<bool> add_line(core::closure_view& c, std::string& text) {
    core::blob value;
    if (c.spilled) {
      bool const read = co_await read_back(c);
      if (!read) co_return false;
      value = std::exchange(c.data, {});
    }
    text += object_line([&](member_list const& m) { line_members(m, c, value); });
    next_ = c.index + 1;
    co_return true;
  }

  // Sets the value in `c`, or the reason why the value was released. Returns false if the value was
  // not read in time or the client has disconnected.
  coro::task<bool> read_back(core::closure_view& c) {
    auto work = [id = c.id](server::hub& h, value_handle const& slot) {
      await_value(h, id, wait_step, slot);
    };
    auto const v = co_await context_.engine.wait<muster::result<core::value_reply>>(
        in_pool_of(c.id, std::move(work)), wait_step, ex_.peer());
    if (v) {
      c.data = v->data;
      co_return true;
    }
    c.released = v.error().message;
    co_return v.error().code == muster::code::not_found;
  }

  bool finished(result_page const& p) const {
    if (blocked_on_ || p.page.next) return false;
    return !follow_ || p.job_ended;
  }

  coro::task<bool> wait_for_more(result_page const& p) {
    if (!follow_ || (p.page.next && !blocked_on_)) co_return true;
    if (ex_.stopping()) co_return false;
    if (blocked_on_) {
      core::await_value e;
      e.closure = *blocked_on_;
      co_return co_await park(e, wait_step);
    }
    core::join_session e;
    e.session = job_;
    co_return co_await park(e, open_job_step);
  }

  // Returns true if the job should be read again.
  template <class Event>
  coro::task<bool> park(Event event, std::chrono::milliseconds step) {
    auto work = [event, step](server::hub& h, answer_handle<muster::status> const& slot) mutable {
      event.deadline = h.now() + step;
      auto const call = h.ask(event, [slot](core::reply const& r) { slot->send(r.status); });
      slot->parked_as(call);
    };
    auto const status = co_await context_.engine.wait<muster::status>(
        in_pool_of(job_, std::move(work)), step, ex_.peer());
    co_return status.ok() || status.code == muster::code::deadline_exceeded;
  }

  web_context& context_;
  exchange& ex_;
  core::session_id const job_;
  bool const follow_;
  std::uint32_t next_;
  std::size_t limit_ = page_smallest;
  std::optional<core::closure_id> blocked_on_;
};

}  // namespace

schema::json result_page_schema() {
  return page_schema("results", "ResultLine");
}

coro::task<response> list_results(web_context& context, exchange& ex) {
  auto const id = server::parse_job(ex.req.capture("id"));
  if (!id) co_return problem_response(unknown_id("job", ex.req.capture("id")));
  query_check query(ex.req);
  auto const from = query.page_token('r');
  auto const limit = query.limit();
  if (query.failed()) co_return problem_response(query.failure());
  result_stream stream(context, ex, *id, static_cast<std::uint32_t>(from), false);
  co_return co_await stream.page(limit);
}

schema::json result_line_schema() {
  return schema_of_members<line_members>();
}

coro::task<response> stream_results(web_context& context, exchange& ex) {
  auto const id = server::parse_job(ex.req.capture("id"));
  if (!id) co_return problem_response(unknown_id("job", ex.req.capture("id")));
  query_check query(ex.req);
  bool const follow = query.flag("wait");
  auto const from = query.number("from", 0);
  result_stream stream(context, ex, *id, static_cast<std::uint32_t>(from), follow);
  co_return co_await stream.run();
}

}  // namespace muster::web
