// Writes follow the rules of the coordination service, so that agents see no difference.
#include "base/utf8.hpp"
#include "server/core/coordination/key_values/key_value_store.hpp"
#include "web/json/cluster_json.hpp"
#include "web/rest/answers.hpp"
#include "web/rest/cluster_access.hpp"
#include "web/rest/key_listing.hpp"

namespace muster::web {

namespace {

using coordination::cluster_id;
using coordination::normal_key;

coro::task<response> list_keys(web_context& context, exchange& ex) {
  query_check query(ex.req);
  key_query wanted;
  wanted.prefix = key_prefix(query.text("prefix"));
  wanted.limit = query.limit();
  wanted.after = query.page_text('k');
  wanted.values = query.flag("include_values", true);
  wanted.folders = query.text("delimiter") == "/";
  auto work = in_cluster(ex, [wanted](engine_services& services, cluster_id c) {
    return list_keys(services.coordination.state().current(c), wanted);
  });
  auto tell = [wanted](key_page const& page) {
    return object_response(key_page_members, page, wanted);
  };
  return respond_with(context, std::move(work), std::move(tell));
}

muster::status no_key(engine_services& services, cluster_id c, std::string const& key) {
  return {muster::code::not_found,
          "cluster '" + services.coordination.state().spec(c).name + "' has no key '" + key + "'"};
}

// Responds once the key's state that the error reports is durable.
void refuse(engine_services& services, cluster_id c, std::string const& key, muster::status why,
            auto const& slot) {
  services.coordination.when_told(
      c, key, [slot, why](muster::status const& lost) { slot->send(lost.ok() ? why : lost); });
}

response value_response(core::blob value) {
  response r;
  r.content_type = is_utf8(value.view()) ? "text/plain; charset=utf-8" : "application/octet-stream";
  r.shared = std::move(value);
  return r;
}

// Calls `then` with the normalised key from the path. An empty key is a problem.
template <class Then>
coro::task<response> with_key(exchange& ex, Then const& then) {
  auto const key = normal_key(ex.req.capture("key"));
  return key.empty() ? refused(invalid("key", "empty")) : then(key);
}

coro::task<response> get_key(web_context& context, exchange& ex) {
  return with_key(ex, [&](std::string const& key) {
    query_check query(ex.req);
    auto const timeout = query.timeout();
    bool const waits = !query.text("timeout").empty() && timeout.count() > 0;
    auto read = [key, waits, timeout](engine_services& services, cluster_id c, auto const& slot) {
      if (!waits && !services.coordination.state().current(c).views().key(key))
        return refuse(services, c, key, no_key(services, c, key), slot);
      coordination::get_key_value r;
      r.key = key;
      r.wait = waits;
      r.peer = "REST client";
      r.from.deadline = services.coordination.now() + with_margin(timeout);
      ask_cluster<core::blob>(services, c, std::move(r), slot, [](coordination::reply& got) {
        return std::get<coordination::key_value>(got.body).second;
      });
    };
    auto work = asking_cluster<core::blob>(ex, std::move(read));
    return wait<core::blob>(context, ex, timeout, std::move(work), value_response);
  });
}

problem put_problem(muster::status const& s) {
  auto p = to_problem(s);
  if (s.code == muster::code::already_exists) p.status = 412;  // due to If-None-Match
  if (s.code == muster::code::invalid_argument) p.field = "key";
  return p;
}

struct written_key {
  std::string key;
  std::size_t size = 0;
  bool created = false;
};

void members(member_list const& m, written_key const& w) {
  m("key", w.key);
  m("size", w.size);
  m("created", w.created);
}

coro::task<response> put_key(web_context& context, exchange& ex) {
  written_key done{normal_key(ex.req.capture("key")), ex.req.body.size()};
  if (done.key.empty()) co_return problem_response(invalid("key", "empty"));
  auto const& condition = ex.req.if_none_match;
  if (!condition.empty() && condition != "*")
    co_return problem_response(invalid("If-None-Match", "expected *"));
  auto insert = [key = done.key, value = core::blob(ex.req.body, core::encoding::bytes),
                 overwrite = condition.empty()](engine_services& services, cluster_id c,
                                                auto const& slot) {
    bool const created = !services.coordination.state().current(c).views().key(key);
    coordination::insert_key_value r;
    r.key = key;
    r.value = value;
    r.overwrite = overwrite;
    r.visits = true;
    ask_cluster<bool>(services, c, std::move(r), slot,
                      [created](coordination::reply&) { return created; });
  };
  auto const created = co_await context.engine.call<muster::result<bool>>(
      asking_cluster<bool>(ex, std::move(insert)));
  if (!created) co_return problem_response(put_problem(created.error()));
  done.created = *created;
  co_return json_response(to_text(done), done.created ? 201 : 200);
}

// The service also deletes all keys under this key. A REST request must ask for this explicitly.
muster::status may_delete(engine_services& services, cluster_id c, std::string const& key,
                          bool recursive) {
  auto const& service = services.coordination.state().current(c);
  auto const below = service.views().keys(key + '/', {}, 1);
  if (!below.empty() && !recursive)
    return {muster::code::failed_precondition, "key '" + key + "' has keys below it, such as '" +
                                                   below.front().key +
                                                   "'; recursive=true deletes them too"};
  if (below.empty() && !service.views().key(key)) return no_key(services, c, key);
  return {};
}

coro::task<response> delete_key(web_context& context, exchange& ex) {
  return with_key(ex, [&](std::string const& key) {
    query_check query(ex.req);
    auto const recursive = query.flag("recursive");
    auto erase = [key, recursive](engine_services& services, cluster_id c, auto const& slot) {
      if (auto const bad = may_delete(services, c, key, recursive); !bad.ok())
        return refuse(services, c, key, bad, slot);
      coordination::delete_key_value r;
      r.key = key;
      r.visits = true;
      ask_cluster<bool>(services, c, std::move(r), slot, [](coordination::reply&) { return true; });
    };
    auto work = asking_cluster<bool>(ex, std::move(erase));
    return ask<bool>(context, std::move(work), [](bool) { return no_content(); });
  });
}

coro::task<response> list_key_waits(web_context& context, exchange& ex) {
  query_check query(ex.req);
  auto const limit = query.limit();
  auto const prefix = key_prefix(query.text("prefix"));
  auto work = in_cluster(ex, [prefix, limit](engine_services& services, cluster_id c) {
    key_waits w;
    w.now = services.coordination.now();
    w.keys = services.coordination.state().current(c).views().key_waits(prefix, limit + 1);
    w.more = w.keys.size() > limit;
    if (w.more) w.keys.pop_back();
    return w;
  });
  return respond_with(context, std::move(work));
}

}  // namespace

void add_key_value_routes(std::vector<route>& to) {
  constexpr std::string_view one = "/api/v1/clusters/{cluster}/kv/{key*}";
  static constexpr std::string_view delimiters[] = {"/"};
  query_parameter const prefix{"prefix", query_kind::text, "only keys with this prefix"};
  to.push_back(
      get("/api/v1/clusters/{cluster}/kv", list_keys, "listKeys", "List keys in byte order")
          .with({prefix,
                 choice_parameter("delimiter", delimiters, "group deeper keys into folders"),
                 {"include_values", query_kind::flag, "false: omit the values"},
                 limit_parameter,
                 page_token_parameter("k", query_kind::page_text)})
          .responds_with("KeyPage", schema_of_members<key_page_members>));
  to.push_back(
      get(one, get_key, "getKey", "Get the value of a key, optionally waiting until the key exists")
          .with({{"timeout", query_kind::duration,
                  "how long to wait for the key, at most 10m; default: no wait"}})
          .as({"text/plain", "application/octet-stream"})
          .responds_with("")
          .also(409, "The run has failed")
          .also(429, "The cluster has reached its limit on waiting calls")
          .also(504, "The wait for the key timed out"));
  to.push_back(
      route{"PUT", one, put_key, "putKey",
            "Write a value; with If-None-Match: * only if the key does not exist"}
          .takes(body_kind::raw)
          .only_if_new()
          .responds_with("KeyWritten", schema_of<written_key>)
          .also(201, "The key is new", "KeyWritten")
          .also(409, "The run has failed")
          .also(412, "The key exists, and If-None-Match: * was sent")
          .also(429, "The cluster has reached its limit on the number or the total size of keys")
          .also(507, "The disk of the data directory is full; `detail` contains its path"));
  to.push_back(
      remove(one, delete_key, "deleteKey", "Delete a key")
          .with({{"recursive", query_kind::flag, "also delete all keys below this key"}})
          .also(409,
                "The run has failed, or the key has keys below it and recursive=true is missing"));
  to.push_back(get("/api/v1/clusters/{cluster}/kv_waits", list_key_waits, "listKeyWaits",
                   "List the tasks that are waiting for missing keys")
                   .with({prefix, limit_parameter})
                   .responds_with("KeyWaits", schema_of<key_waits>));
}

}  // namespace muster::web
