// RemoteValues as a list, who keeps most of them, and the beginning of one.
#include <absl/strings/escaping.h>

#include <algorithm>

#include "base/text.hpp"
#include "server/hub/id_text.hpp"
#include "web/rest/answers.hpp"
#include "web/rest/closure_listing.hpp"
#include "web/rest/cluster_access.hpp"

namespace muster::web {

namespace {

constexpr std::uint64_t holders_default = 20, preview_default = 4096, preview_max = 65'536;

void write_row(json_out& out, core::closure_view const& c) {
  auto const object = out.object();
  out.key("id").string(server::value_text(c.id));
  out.key("closure").string(core::text(c.id));
  out.key("job").string(core::text(c.job));
  out.key("function").string(c.function);
  if (!c.display_name.empty()) out.key("display_name").string(c.display_name);
  out.key("index").number(c.index);
  out.key("status").string(core::name(c.value));
  out.key("place").string(core::name(core::whereabouts(c)));
  out.key("bytes").number(c.value_bytes);
  out.key("created_ms").number(core::to_unix_ms(c.created));
  out.key("finished_ms").number(core::to_unix_ms(c.finished));
  if (!c.released.empty()) out.key("released").string(c.released);
}

response value_page(listing_page const& page, core::closure_query const& q) {
  return json_response(json_line([&](json_out& out) {
    auto const object = out.object();
    out.key("remote_values").begin_array();
    for (auto const& c : page.closures) write_row(out, c.view);
    out.end_array();
    if (page.next) out.key("next_page_token").string(listing_token('v', *page.next, q));
    out.key("looked_at").number(page.looked_at);
    out.key("of").number(page.of);
  }));
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
    if (!id) query.fail("job", "expected the id of a job, got '" + std::string(job) + "'");
    r.query.session = id.value_or(core::session_id{});
  }
  using core::value_state;
  using core::value_whereabouts;
  r.query.value = named(query.text("status"),
                        {value_state::not_ready, value_state::ready, value_state::aborted});
  r.query.place =
      named(query.text("place"), {value_whereabouts::memory, value_whereabouts::disk,
                                  value_whereabouts::released, value_whereabouts::none});
  r.query.order = equal_ignoring_case(query.text("sort"), "size") ? core::listing_order::by_size
                                                                  : core::listing_order::by_age;
  r.query.descending = equal_ignoring_case(query.text("order"), "desc");
  r.query.rows = false;
  r.cluster = query.text("cluster");
  r.limit = query.limit();
  auto const place = listing_place_of(query, 'v', r.query);
  if (query.failed()) co_return problem_response(query.failure());
  if (!place) co_return problem_response(impossible("page_token", place.error().message));
  r.from = *place;
  auto const asked = r.query;
  auto listing = list(context, std::move(r));
  auto const page = co_await std::move(listing);
  co_return page ? value_page(*page, asked) : problem_response(page.error());
}

void write(json_out& out, core::value_holder const& h) {
  auto const object = out.object();
  out.key("job").string(core::text(h.job));
  out.key("name").string(h.name);
  out.key("streaming").boolean(h.streaming);
  out.key("state").string(core::name(h.state));
  out.key("values").number(h.values);
  out.key("value_bytes").number(h.bytes);
  out.key("spilled_bytes").number(h.spilled_bytes);
}

// Sessions are few beside closures: as many steps as it takes.
coro::task<response> list_holders(web_context& context, exchange& ex) {
  query_check query(ex.req);
  auto const limit = static_cast<std::size_t>(query.number("limit", holders_default));
  std::string const cluster(query.text("cluster"));
  std::vector<core::value_holder> all;
  auto const more = [](auto const& a, auto const& b) {
    return std::pair(a.bytes + a.spilled_bytes, b.job) >
           std::pair(b.bytes + b.spilled_bytes, a.job);
  };
  core::session_id after{};
  for (;;) {
    auto work = [after](server::hub& h) { return h.state().value_holders(after); };
    auto asking = context.engine.on_engine(in_pool(cluster, std::move(work)));
    auto step = co_await std::move(asking);
    if (!step) co_return problem_response(step.error());
    std::move(step->items.begin(), step->items.end(), std::back_inserter(all));
    std::sort(all.begin(), all.end(), more);
    all.resize(std::min(all.size(), limit));
    if (!step->next) break;
    after = *step->next;
  }
  co_return json_response(json_line([&all](json_out& out) {
    auto const object = out.object();
    out.key("holders").begin_array();
    for (auto const& h : all) write(out, h);
    out.end_array();
  }));
}

// No more than `most` bytes, and no half of a character.
std::string_view beginning(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  return text.substr(0, most);
}

response preview(core::closure_view const& c, std::size_t most) {
  return json_response(json_line([&](json_out& out) {
    auto const object = out.object();
    out.key("id").string(server::value_text(c.id));
    out.key("status").string(core::name(c.value));
    out.key("place").string(core::name(core::whereabouts(c)));
    out.key("bytes").number(c.value_bytes);
    if (core::whereabouts(c) == core::value_whereabouts::memory) {
      bool const json = c.data.encoding() == core::encoding::json;
      auto const shown = json ? beginning(c.data.view(), most) : c.data.view().substr(0, most);
      out.key("encoding").string(json ? "json" : "bytes");
      out.key("text").string(json ? std::string(shown)
                                  : absl::BytesToHexString({shown.data(), shown.size()}));
      out.key("truncated").boolean(shown.size() < c.data.size());
    }
    if (!c.released.empty()) out.key("released").string(c.released);
    write_if(out, "error", c.error);
  }));
}

coro::task<response> preview_value(web_context& context, exchange& ex) {
  return with_id(ex, "remote value", server::parse_value, [&](core::closure_id id) {
    query_check query(ex.req);
    auto const most = static_cast<std::size_t>(query.number("bytes", preview_default));
    auto work = [id](server::hub& h) { return h.state().closure(id); };
    return look(context, in_pool_of(id, std::move(work)),
                [most](core::closure_view const& c) { return preview(c, most); });
  });
}

}  // namespace

void add_value_list_routes(std::vector<route>& to) {
  static constexpr std::string_view statuses[] = {"NOT_READY", "READY", "ABORTED"};
  static constexpr std::string_view places[] = {"memory", "disk", "released", "none"};
  static constexpr std::string_view sorts[] = {"age", "size"};
  to.push_back(
      get("/api/v1/remote_values", list_values, "listRemoteValues",
          "RemoteValues: one for each closure that the server knows")
          .with({{.name = "status",
                  .kind = query_kind::choice,
                  .meaning = "only values that are so",
                  .choices = statuses},
                 {.name = "place",
                  .kind = query_kind::choice,
                  .meaning = "only values that are there; none: there is no value",
                  .choices = places},
                 {"job",
                  query_kind::text,
                  "only those of this job or session",
                  0,
                  UINT64_MAX,
                  {},
                  "^(job_[0-9a-f]{16})?$"},
                 {.name = "sort",
                  .kind = query_kind::choice,
                  .meaning = "age, unless told: since the closure has ended, or was scheduled",
                  .choices = sorts},
                 listing_order_parameter,
                 limit_parameter,
                 listing_token_parameter("v"),
                 cluster_parameter})
          .tells("RemoteValuePage")
          .also(404, "No such job or cluster")
          .also(422, another_order));
  to.push_back(get("/api/v1/remote_values/holders", list_holders, "listValueHolders",
                   "Jobs and sessions by the bytes of values they keep, most first")
                   .with({{"limit", query_kind::number, "entries, 20 unless told", 1, page_max},
                          cluster_parameter})
                   .tells("ValueHolders")
                   .also(404, "No such cluster"));
  to.push_back(get("/api/v1/remote_values/{id}/preview", preview_value, "previewValue",
                   "The beginning of a value, if it is in memory; never waits")
                   .with({{"bytes", query_kind::number, "of it, 4096 unless told", 1, preview_max}})
                   .tells("ValuePreview"));
}

}  // namespace muster::web
