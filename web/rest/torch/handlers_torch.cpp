// The TCPStore of a cluster: clients, waits, keys, and a new key space. The stores run on their own
// thread, which sends the result to the slot.
#include "base/utf8.hpp"
#include "server/torch/torch_stores.hpp"
#include "web/rest/answers.hpp"
#include "web/rest/cluster_access.hpp"

namespace muster::web {

namespace {

using coordination::cluster_id;

struct torch_snapshot {
  std::string address;
  core::time_point now{};
  torch::tcp_store_view view;
};

// Keys are arbitrary bytes. Invalid UTF-8 is shown with replacement characters, and additionally as
// base64 of the whole key.
void key_members(member_list const& m, std::string const& key) {
  m("key", to_utf8(key));
  m.some("key_base64", is_utf8(key) ? std::string() : base64(key),
         "the key in base64 if it is not valid UTF-8");
}

std::int64_t ms_since(core::time_point since, core::time_point now) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(now - since).count();
}

void attempt_members(member_list const& m, torch::attempt_view const& a) {
  m("number", a.number);
  m.word("cause", torch::name(a.cause), {"first", "asked", "all_left", "rank_anew", "launched"});
  m("began_ms", a.began);
  m("connections", a.connections);
  m("keys", a.keys, "number of keys, including queue entries");
  m("bytes", a.bytes);
}

void torch_members(member_list const& m, torch_snapshot const& t) {
  m.some("address", t.address,
         "address of the TCPStore; only the program's ranks can connect to a program's TCPStore");
  m.list("attempts", t.view.attempts, attempt_members,
         "key spaces of the attempts, newest first; the previous attempt remains readable");
  m("connections_total", t.view.connections);
  m.list(
      "missing", t.view.missing, [](std::uint32_t rank) { return rank; },
      "ranks whose keys other ranks are waiting for; for a program, also ranks that have not "
      "connected");
  m.some("ranks_expected", t.view.expected, "number of ranks of the program");
  m.list(
      "ranks", t.view.ranks,
      [](member_list const& of, torch::rank_view const& r) {
        of("rank", r.rank);
        of("peer", r.peer);
        of.some("pid", r.pid);
        of("connected", r.connected);
      },
      "ranks of the newest attempt, identified by the keys that contain their addresses; for a "
      "program, by their connections");
  m.list("waits", t.view.waits, [&t](member_list const& of, torch::wait_view const& w) {
    key_members(of, w.key);
    of("attempt", w.attempt);
    of("barrier", w.barrier);
    of.some("rank", w.rank, "the rank that has to write the key");
    of("since_ms", w.since);
    of("waiting_ms", ms_since(w.since, t.now));
    of("count", w.waiting);
    of("connections", w.connections, "waiting connections, at most 16");
  });
  m.list("connections", t.view.shown, [](member_list const& of, torch::connection_view const& c) {
    of("id", c.id);
    of("peer", c.peer);
    of("attempt", c.attempt);
    of("since_ms", c.since);
    of.some("numbering", c.numbering, "protocol version: A (PyTorch 1.13, 2.0), B (2.1) or C");
    of.some("rank", c.rank);
    of.some("pid", c.pid);
    of("waits_for", c.waits_for, "keys");
    of.when(c.waits_for > 0)("waits_since_ms", c.waits_since);
  });
  m("more", t.view.more, "true if a list is longer than its limit and was cut off");
}

muster::status no_store(engine_services& services, cluster_id c) {
  return {muster::code::not_found,
          "cluster '" + services.coordination.state().spec(c).name +
              "' has no TCPStore: declare the cluster with torch=PORT, start the server with "
              "--torch, or run a program with \"store\": \"server\""};
}

template <class R, class Then>
auto on_torch_store(exchange const& ex, Then then) {
  return asking_cluster<R>(
      ex, [then = std::move(then)](engine_services& services, cluster_id c, auto const& slot) {
        auto const id = static_cast<std::uint64_t>(c);
        auto none = no_store(services, c);
        if (!services.torch || !services.torch->has(id)) return slot->send(std::move(none));
        auto address = services.torch->address(id);
        services.torch->visit(id, [slot, then, none, address,
                                   now = services.coordination.now()](torch::tcp_store* tcp_store) {
          tcp_store ? slot->send(then(*tcp_store, address, now)) : slot->send(none);
        });
      });
}

coro::task<response> get_torch(web_context& context, exchange& ex) {
  query_check query(ex.req);
  auto const limit = query.limit();
  auto work = on_torch_store<torch_snapshot>(
      ex, [limit](torch::tcp_store& tcp_store, std::string const& address, core::time_point now) {
        return muster::result<torch_snapshot>(torch_snapshot{address, now, tcp_store.view(limit)});
      });
  return ask<torch_snapshot>(context, std::move(work), as_members<torch_members>);
}

struct torch_keys {
  std::uint64_t attempt = 0;
  std::vector<torch::key_view> keys;
  bool more = false;
};

void torch_keys_members(member_list const& m, torch_keys const& k) {
  m("attempt", k.attempt);
  m.list("keys", k.keys, [](member_list const& of, torch::key_view const& one) {
    key_members(of, one.key);
    of("bytes", one.bytes, "value size in bytes");
  });
  m.when(k.more)("next_page_token",
                 page_token('t', k.keys.empty() ? std::string() : k.keys.back().key));
}

coro::task<response> list_torch_keys(web_context& context, exchange& ex) {
  query_check query(ex.req);
  struct {
    std::uint64_t attempt;
    std::string prefix, after;
    std::size_t limit;
  } const wanted{query.number("attempt", 0), std::string(query.text("prefix")),
                 query.page_text('t'), query.limit()};
  auto work = on_torch_store<torch_keys>(ex, [wanted](torch::tcp_store& tcp_store,
                                                      std::string const&, core::time_point) {
    torch_keys found;
    auto const attempts = tcp_store.view(0).attempts;
    found.attempt = wanted.attempt;
    if (found.attempt == 0 && !attempts.empty()) found.attempt = attempts.front().number;
    auto keys = tcp_store.keys(found.attempt, wanted.prefix, wanted.after, wanted.limit + 1);
    if (!keys && wanted.attempt != 0)
      return muster::result<torch_keys>(muster::status{
          muster::code::not_found, "there is no attempt " + std::to_string(wanted.attempt) +
                                       "; only the newest and the previous attempt are stored"});
    if (keys) found.keys = std::move(*keys);
    found.more = found.keys.size() > wanted.limit;
    if (found.more) found.keys.pop_back();
    return muster::result<torch_keys>(std::move(found));
  });
  return ask<torch_keys>(context, std::move(work), as_members<torch_keys_members>);
}

coro::task<response> begin_torch_attempt(web_context& context, exchange& ex) {
  auto work = on_torch_store<torch::attempt_view>(
      ex, [](torch::tcp_store& tcp_store, std::string const&, core::time_point now) {
        tcp_store.begin_attempt(torch::attempt_cause::asked, now);
        return muster::result<torch::attempt_view>(tcp_store.view(0).attempts.front());
      });
  auto const begun =
      co_await context.engine.call<muster::result<torch::attempt_view>>(std::move(work));
  if (!begun) co_return problem_response(begun.error());
  auto r = object_response(attempt_members, *begun);
  r.status = 201;
  co_return r;
}

}  // namespace

void add_torch_routes(std::vector<route>& to) {
  to.push_back(get("/api/v1/clusters/{cluster}/torch", get_torch, "getTorchStore",
                   "Get the TCPStore of torch.distributed: its ranks, and which clients are "
                   "waiting for which keys")
                   .with({limit_parameter})
                   .responds_with("TorchStore", schema_of_members<torch_members>));
  to.push_back(
      get("/api/v1/clusters/{cluster}/torch/keys", list_torch_keys, "listTorchKeys",
          "List the keys of an attempt in byte order")
          .with({{"attempt", query_kind::number, "attempt number; default: the newest attempt"},
                 {"prefix", query_kind::text, "only keys with this prefix"},
                 limit_parameter,
                 page_token_parameter("t", query_kind::page_text)})
          .responds_with("TorchKeyPage", schema_of_members<torch_keys_members>));
  to.push_back(post("/api/v1/clusters/{cluster}/torch/attempts", begin_torch_attempt,
                    "beginTorchAttempt",
                    "Start a new attempt with an empty key space; connected ranks keep the keys of "
                    "their attempt")
                   .responds_with("TorchAttempt", schema_of_members<attempt_members>, 201));
}

}  // namespace muster::web
