// Key-values of a cluster: list, read, wait, write, delete. Writes follow the service's own rules,
// so that agents see no difference.
#include "base/utf8.hpp"
#include "server/core/coordination/key_values/key_value_store.hpp"
#include "web/http/query.hpp"
#include "web/json/cluster_json.hpp"
#include "web/rest/cluster_access.hpp"
#include "web/rest/handlers.hpp"
#include "web/rest/key_listing.hpp"

namespace muster::web {

namespace {

using coordination::normal_key;

coro::task<response> list_keys(web_context& context, exchange& ex) {
  query_check query(ex.req);
  key_query wanted;
  wanted.prefix = key_prefix(query.text("prefix"));
  wanted.limit = query.limit();
  wanted.after = query.page_text('k');
  wanted.values = query.flag("include_values", true);
  wanted.folders = query.text("delimiter") == "/";
  if (!query.text("delimiter").empty() && !wanted.folders)
    query.fail("delimiter", "only / divides keys");
  if (query.failed()) co_return problem_response(query.failure());
  using result = muster::result<key_page>;
  auto work = [cluster = std::string(ex.req.capture("cluster")),
               wanted](engine_room& room) -> result {
    auto const c = find_cluster(room, cluster);
    if (!c) return c.error();
    return list_keys(room.coordination.state().current(*c), wanted);
  };
  auto asking = context.engine.on_engine(std::move(work));
  auto const page = co_await std::move(asking);
  if (!page) co_return problem_response(page.error());
  co_return json_response(key_page_text(*page, wanted));
}

muster::status no_key(std::string const& cluster, std::string const& key) {
  return {muster::code::not_found, "cluster '" + cluster + "' has no key '" + key + "'"};
}

// The service answers a little before its caller's deadline; asked for this much longer, it answers
// when the time is over.
core::duration with_margin(core::duration timeout) {
  return timeout + std::clamp<core::duration>(timeout / 19, std::chrono::milliseconds(50),
                                              std::chrono::seconds(1));
}

response value_response(core::blob value) {
  response r;
  r.content_type = is_utf8(value.view()) ? "text/plain; charset=utf-8" : "application/octet-stream";
  r.shared = std::move(value);
  return r;
}

struct key_address {
  std::string cluster, key;
};

// The key as the service keeps it; a problem when nothing is left of it.
std::optional<problem> read_key(request const& r, key_address& into) {
  into.cluster = r.capture("cluster");
  into.key = normal_key(r.capture("key"));
  if (into.key.empty()) return invalid("key", "empty");
  return {};
}

coro::task<response> get_key(web_context& context, exchange& ex) {
  key_address at;
  if (auto const p = read_key(ex.req, at)) co_return problem_response(*p);
  query_check query(ex.req);
  bool const wait = !query.text("timeout").empty();
  auto const timeout = query.timeout();
  if (query.failed()) co_return problem_response(query.failure());
  using result = muster::result<core::blob>;
  auto work = [at, wait, timeout](engine_room& room, answer_handle<result> const& slot) {
    auto const c = find_cluster(room, at.cluster);
    if (!c) return slot->send(c.error());
    coordination::get_key_value r;
    r.key = at.key;
    r.wait = wait && timeout.count() > 0;
    r.peer = "REST client";
    if (!r.wait && !room.coordination.state().current(*c).key(at.key))
      return slot->send(no_key(room.coordination.state().spec(*c).name, at.key));
    r.from.deadline = room.coordination.now() + with_margin(timeout);
    ask_cluster<core::blob>(room, *c, std::move(r), slot, [](coordination::reply& got) {
      return std::get<coordination::key_value>(got.body).second;
    });
  };
  auto asking = context.engine.call<result>(std::move(work),
                                            timeout + context.options.timeouts.engine, &ex.peer());
  auto v = co_await std::move(asking);
  if (!v) co_return problem_response(v.error());
  co_return value_response(std::move(*v));
}

struct put_result {
  bool created = false;
};

response put_response(key_address const& at, std::size_t size, bool created) {
  std::string text;
  json_out out(text);
  out.begin_object();
  out.key("key").string(at.key);
  out.key("size").number(size);
  out.key("created").boolean(created);
  out.end_object();
  text += '\n';
  return json_response(std::move(text), created ? 201 : 200);
}

problem put_problem(muster::status const& s) {
  auto p = to_problem(s);
  if (s.code == muster::code::already_exists) p.status = 412;  // of If-None-Match
  if (s.code == muster::code::invalid_argument) p.field = "key";
  return p;
}

coro::task<response> put_key(web_context& context, exchange& ex) {
  key_address at;
  if (auto const p = read_key(ex.req, at)) co_return problem_response(*p);
  auto const& condition = ex.req.if_none_match;
  if (!condition.empty() && condition != "*")
    co_return problem_response(invalid("If-None-Match", "only * is possible"));
  using result = muster::result<put_result>;
  auto const size = ex.req.body.size();
  auto work = [at, value = core::blob(ex.req.body, core::encoding::bytes),
               overwrite = condition.empty()](engine_room& room,
                                              answer_handle<result> const& slot) {
    auto const c = find_cluster(room, at.cluster);
    if (!c) return slot->send(c.error());
    bool const created = !room.coordination.state().current(*c).key(at.key);
    coordination::insert_key_value r;
    r.key = at.key;
    r.value = value;
    r.overwrite = overwrite;
    ask_cluster<put_result>(room, *c, std::move(r), slot,
                            [created](coordination::reply&) { return put_result{created}; });
  };
  auto asking =
      context.engine.call<result>(std::move(work), context.options.timeouts.engine, nullptr);
  auto const done = co_await std::move(asking);
  if (!done) co_return problem_response(put_problem(done.error()));
  co_return put_response(at, size, done->created);
}

// The service's delete takes what is below as well; here that has to be meant.
muster::status may_delete(engine_room& room, coordination::cluster_id c, key_address const& at,
                          bool recursive) {
  auto const& service = room.coordination.state().current(c);
  auto const below = service.keys(at.key + '/', {}, 1);
  if (!below.empty() && !recursive)
    return {muster::code::failed_precondition,
            "key '" + at.key + "' has others below it, such as '" + below.front().key +
                "'; recursive=true deletes them too"};
  if (below.empty() && !service.key(at.key))
    return no_key(room.coordination.state().spec(c).name, at.key);
  return {};
}

coro::task<response> delete_key(web_context& context, exchange& ex) {
  key_address at;
  if (auto const p = read_key(ex.req, at)) co_return problem_response(*p);
  query_check query(ex.req);
  auto const recursive = query.flag("recursive");
  if (query.failed()) co_return problem_response(query.failure());
  using result = muster::result<bool>;
  auto work = [at, recursive](engine_room& room, answer_handle<result> const& slot) {
    auto const c = find_cluster(room, at.cluster);
    if (!c) return slot->send(c.error());
    if (auto const bad = may_delete(room, *c, at, recursive); !bad.ok()) return slot->send(bad);
    coordination::delete_key_value r;
    r.key = at.key;
    ask_cluster<bool>(room, *c, std::move(r), slot, [](coordination::reply&) { return true; });
  };
  auto asking =
      context.engine.call<result>(std::move(work), context.options.timeouts.engine, nullptr);
  auto const done = co_await std::move(asking);
  if (!done) co_return problem_response(done.error());
  co_return no_content();
}

coro::task<response> list_key_waits(web_context& context, exchange& ex) {
  query_check query(ex.req);
  auto const limit = query.limit();
  auto const prefix = key_prefix(query.text("prefix"));
  if (query.failed()) co_return problem_response(query.failure());
  using result = muster::result<key_waits>;
  auto work = [cluster = std::string(ex.req.capture("cluster")), prefix,
               limit](engine_room& room) -> result {
    auto const c = find_cluster(room, cluster);
    if (!c) return c.error();
    key_waits w;
    w.now = room.coordination.now();
    w.keys = room.coordination.state().current(*c).key_waits(prefix, limit + 1);
    w.more = w.keys.size() > limit;
    if (w.more) w.keys.pop_back();
    return w;
  };
  auto asking = context.engine.on_engine(std::move(work));
  auto const w = co_await std::move(asking);
  if (!w) co_return problem_response(w.error());
  co_return json_response(key_waits_text(*w));
}

}  // namespace

void add_key_value_routes(std::vector<route>& to) {
  constexpr std::string_view one = "/api/v1/clusters/{cluster}/kv/{key*}";
  to.push_back({"GET",
                "/api/v1/clusters/{cluster}/kv",
                list_keys,
                "listKeys",
                "Keys in byte order",
                200,
                "application/json",
                body_kind::none,
                {{"prefix", query_kind::text, "only keys that begin with this"},
                 {"delimiter", query_kind::text, "/: what lies deeper is told as folders"},
                 {"include_values", query_kind::flag, "false leaves the values out"},
                 limit_parameter,
                 page_token_parameter}});
  to.push_back({"GET",
                one,
                get_key,
                "getKey",
                "The value, waiting for the key if told so",
                200,
                "*/*",
                body_kind::none,
                {{"timeout", query_kind::duration,
                  "wait this long for the key, 10m at most; without it no wait"}}});
  to.push_back({"PUT", one, put_key, "putKey",
                "Write a value; If-None-Match: * inserts only (412 when the key exists)", 200,
                "application/json", body_kind::raw});
  to.push_back({"DELETE",
                one,
                delete_key,
                "deleteKey",
                "Delete a key",
                204,
                "",
                body_kind::none,
                {{"recursive", query_kind::flag, "also what is below it"}}});
  to.push_back({"GET",
                "/api/v1/clusters/{cluster}/kv_waits",
                list_key_waits,
                "listKeyWaits",
                "Who waits for keys that do not exist",
                200,
                "application/json",
                body_kind::none,
                {{"prefix", query_kind::text, "only keys that begin with this"}, limit_parameter}});
}

}  // namespace muster::web
