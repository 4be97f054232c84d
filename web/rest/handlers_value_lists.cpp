#include <absl/strings/escaping.h>

#include <algorithm>

#include "base/text.hpp"
#include "server/core/api/explanation.hpp"
#include "server/core/queries/closure_queries.hpp"
#include "server/core/queries/value_queries.hpp"
#include "server/hub/blob_store.hpp"
#include "server/hub/id_parsing.hpp"
#include "web/json/python_call.hpp"
#include "web/rest/answers.hpp"
#include "web/rest/closure_listing.hpp"
#include "web/rest/cluster_access.hpp"
#include "web/rest/history/history_reading.hpp"

namespace muster::web {

namespace {

constexpr std::string_view value_size =
    "size of the whole value in bytes; for a blob, the size of the blob";
constexpr std::uint64_t holders_default = 20, preview_default = 4096, preview_max = 65'536;

constexpr auto places = all_names<core::value_whereabouts>();

void place_member(member_list const& m, core::closure_view const& c) {
  m("place", core::whereabouts(c), "location of the value; none if there is no value");
}

// Returns at most `most` bytes and ends at a complete UTF-8 character.
std::string_view beginning(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  return text.substr(0, most);
}

constexpr std::size_t error_line_bytes_max = 200;

std::string error_line(core::closure_view const& c) {
  std::string_view const text = c.error ? std::string_view(c.error->message) : std::string_view();
  return std::string(beginning(text.substr(0, text.find('\n')), error_line_bytes_max));
}

void row_members(member_list const& m, reported_closure const& reported) {
  auto const& c = reported.view;
  m("id", value_id{c.id});
  m("closure", c.id);
  m("job", c.job);
  m("function", c.function);
  m.some("display_name", c.display_name);
  m("index", c.index);
  m.when(!c.attempts.empty())(
      "worker",
      c.attempts.empty() ? std::string_view() : std::string_view(c.attempts.back().worker),
      "task that computes or computed the value; missing if no task has received the closure");
  m("status", c.value);
  m("error", core::ended(c.state) && c.state != core::closure_state::succeeded,
    "true if the closure failed or was cancelled; fetching the value then raises the error");
  m.some("error_line", error_line(c),
         "first line of the error message, at most 200 bytes; missing if there is no error");
  place_member(m, c);
  m("bytes", c.value_bytes, value_size);
  m("created_ms", c.created);
  m("finished_ms", c.finished);
  m.some("released", c.released, "reason why the value was released");
}

void value_page_members(member_list const& m, listing_page const& page,
                        core::closure_query const& q) {
  listing_members(m, "remote_values", 'v', page, q, row_members);
}

template <class Word>
std::optional<Word> named(std::string_view text, std::initializer_list<Word> words) {
  for (auto const w : words)
    if (equal_ignoring_case(text, core::name(w))) return w;
  return {};
}

coro::task<response> list_values(web_context& context, exchange& ex) {
  query_check query(ex.req);
  listing_request r;
  if (auto const job = query.text("job"); !job.empty()) {
    auto const id = server::parse_job(job);
    if (!id) query.fail("job", "expected a job id, got '" + std::string(job) + "'");
    r.query.session = id.value_or(core::session_id{});
  }
  using core::value_state;
  using core::value_whereabouts;
  r.query.value = named(query.text("status"),
                        {value_state::not_ready, value_state::ready, value_state::aborted});
  r.query.place =
      named(query.text("place"), {value_whereabouts::memory, value_whereabouts::disk,
                                  value_whereabouts::released, value_whereabouts::none});
  if (auto const error = query.text("error"); !error.empty())
    r.query.states = query.flag("error") ? core::ended_badly_states
                                         : core::any_state & ~core::ended_badly_states;
  history_query range;
  if (auto const wrong = read_time_range(query, range)) co_return problem_response(*wrong);
  r.query.since = range.from;
  r.query.until = range.to;
  r.query.worker = query.text("worker");
  r.query.text = lower(query.text("q"));
  r.query.order = equal_ignoring_case(query.text("sort"), "size") ? core::listing_order::by_size
                                                                  : core::listing_order::by_age;
  r.query.descending = equal_ignoring_case(query.text("order"), "desc");
  r.query.rows = false;
  r.cluster = query.text("cluster");
  r.limit = query.limit();
  co_return co_await answer_listing(context, query, 'v', std::move(r), value_page_members);
}

void holder_members(member_list const& m, core::value_holder const& h) {
  m("job", h.job);
  m("name", h.name);
  m("streaming", h.streaming);
  m("state", h.state);
  m("values", h.values);
  m("value_bytes", h.bytes, "bytes of values in memory");
  m("spilled_bytes", h.spilled_bytes, "bytes of values on disk");
  m("blob_bytes", h.blob_bytes, "bytes of the blobs that the values use, counted once per value");
}

void holders_members(member_list const& m, std::vector<core::value_holder> const& all) {
  m.list("holders", all, holder_members);
}

// There are few sessions, so this handler needs no time limit.
coro::task<response> list_holders(web_context& context, exchange& ex) {
  query_check query(ex.req);
  auto const limit = static_cast<std::size_t>(query.number("limit", holders_default));
  std::string const cluster(query.text("cluster"));
  std::vector<core::value_holder> all;
  auto const more = [](auto const& a, auto const& b) {
    auto const held = [](auto const& h) { return h.bytes + h.spilled_bytes + h.blob_bytes; };
    return std::pair(held(a), b.job) > std::pair(held(b), a.job);
  };
  core::session_id after{};
  for (;;) {
    auto work = [after](server::hub& h) { return h.state().values().holders(after); };
    auto step = co_await context.engine.on_engine(in_pool(cluster, std::move(work)));
    if (!step) co_return problem_response(step.error());
    std::move(step->items.begin(), step->items.end(), std::back_inserter(all));
    std::sort(all.begin(), all.end(), more);
    all.resize(std::min(all.size(), limit));
    if (!step->next) break;
    after = *step->next;
  }
  co_return object_response(holders_members, all);
}

struct placed_value {
  core::closure_view view;
  std::optional<core::input_place> blob{};
};

void preview_members(member_list const& m, placed_value const& v, std::size_t most) {
  auto const& c = v.view;
  bool const json = c.data.encoding() == core::encoding::json;
  auto const shown = json ? beginning(c.data.view(), most) : c.data.view().substr(0, most);
  m("id", value_id{c.id});
  m("status", c.value);
  place_member(m, c);
  m("bytes", c.value_bytes, value_size);
  auto const here = m.when(core::whereabouts(c) == core::value_whereabouts::memory);
  here.word("encoding", json ? "json" : "bytes", {"json", "bytes"});
  here("text", json ? std::string(shown) : absl::BytesToHexString({shown.data(), shown.size()}),
       "beginning of the value; bytes as hexadecimal digits");
  here("truncated", shown.size() < c.data.size());
  m.some("description", python_value_text(c.data),
         "for a pickled Python value: the worker's description of its type, shape and beginning");
  static core::input_place const nowhere;
  auto const& place = v.blob ? *v.blob : nowhere;
  auto const blob = m.when(v.blob.has_value());
  blob("at_server", place.at_server, "true if the server has the bytes of the blob");
  m.some("holder", place.holders.empty() ? std::string() : place.holders.front(),
         "the first worker that has the bytes of the blob in memory");
  blob("holders", place.holders,
       "all workers that have the bytes of the blob in memory, at most 8; the worker that created "
       "the blob is first");
  m.some("released", c.released, "reason why the value was released");
  m.some("error", c.error);
}

coro::task<response> tell_preview(web_context& context, core::closure_id id, std::size_t most) {
  auto look_at = [id](server::hub& h) { return h.state().closures().find(id); };
  auto view = co_await context.engine.on_engine(in_pool_of(id, std::move(look_at)));
  if (!view) co_return problem_response(view.error());
  placed_value found{std::move(*view)};
  if (auto const name = server::blob_named_by(found.view.data.view()); !name.empty()) {
    auto find = [name](engine_services& services) { return services.blobs.place_of(name); };
    auto place = co_await context.engine.on_engine(std::move(find));
    if (!place) co_return problem_response(place.error());
    found.blob = std::move(*place);
  }
  co_return object_response(preview_members, found, most);
}

coro::task<response> preview_value(web_context& context, exchange& ex) {
  return with_id(ex, "remote value", server::parse_value, [&](core::closure_id id) {
    query_check query(ex.req);
    auto const most = static_cast<std::size_t>(query.number("bytes", preview_default));
    return tell_preview(context, id, most);
  });
}

}  // namespace

void add_value_list_routes(std::vector<route>& to) {
  static constexpr auto statuses = all_names<core::value_state>();
  static constexpr std::string_view sorts[] = {"age", "size"};
  to.push_back(
      get("/api/v1/remote_values", list_values, "listRemoteValues",
          "List RemoteValues, one for each closure that the server knows")
          .with({choice_parameter("status", statuses, "only values with this status"),
                 {"error", query_kind::flag,
                  "true: only errors; false: only values that are not errors"},
                 choice_parameter("place", places,
                                  "only values in this location; none: closures without a value"),
                 job_parameter("only values of this job or session"),
                 {"worker", query_kind::text,
                  "only values that this task computes or computed, such as worker:3"},
                 {"q", query_kind::text,
                  "only values whose function, error or id contains this text; case-insensitive"},
                 {.name = "from_ms",
                  .kind = query_kind::number,
                  .meaning = "only values that were computed at or after this time; a value that "
                             "is not ready counts from its creation",
                  .max = 9'000'000'000'000},
                 {.name = "to_ms",
                  .kind = query_kind::number,
                  .meaning = "only values that were computed at or before this time",
                  .max = 9'000'000'000'000},
                 choice_parameter(
                     "sort", sorts,
                     "sort key; default age, the time since the closure ended or was scheduled"),
                 listing_order_parameter,
                 limit_parameter,
                 listing_token_parameter("v"),
                 cluster_parameter})
          .responds_with("RemoteValuePage", schema_of_members<value_page_members>)
          .also(404, "No such job or cluster")
          .also(422,
                "The page token belongs to a listing with a different order, or to_ms is before "
                "from_ms"));
  to.push_back(get("/api/v1/remote_values/holders", list_holders, "listValueHolders",
                   "List jobs and sessions by the size of the values that they keep, largest first")
                   .with({{"limit", query_kind::number, "maximum number of entries; default 20", 1,
                           page_max},
                          cluster_parameter})
                   .responds_with("ValueHolders", schema_of_members<holders_members>)
                   .also(404, "No such cluster"));
  to.push_back(get("/api/v1/remote_values/{id}/preview", preview_value, "previewValue",
                   "Get the beginning of a value if it is in memory; never waits")
                   .with({{"bytes", query_kind::number, "maximum number of bytes; default 4096", 1,
                           preview_max}})
                   .responds_with("ValuePreview", schema_of_members<preview_members>));
}

}  // namespace muster::web
