// PerWorkerValues: made, shown, released.
#include "server/hub/id_text.hpp"
#include "web/json/arguments.hpp"
#include "web/json/json_check.hpp"
#include "web/rest/answers.hpp"

namespace muster::web {

namespace {

constexpr std::size_t name_bytes_max = 256;

struct per_worker_request {
  std::string function;
  std::string name;
  core::blob args;
};

per_worker_request read_request(json_check& check, json_ref const& body) {
  per_worker_request r;
  std::optional<json_ref> positional, named;
  check.members(body, {{"function", [&](auto& at) { r.function = check.text(at, name_bytes_max); }},
                       {"name", [&](auto& at) { r.name = check.text(at, name_bytes_max); }},
                       {"args", [&](auto& at) { positional = at; }},
                       {"kwargs", [&](auto& at) { named = at; }}});
  if (check.failed()) return r;
  core::closure_spec builder;
  read_arguments(check, positional ? &*positional : nullptr, named ? &*named : nullptr, builder);
  if (r.function.empty() && !check.failed())
    check.missing(body, "function", "the name of a function");
  if (builder.extras)
    check.fail(body,
               "the arguments of a builder are plain: it runs again when a worker comes back");
  r.args = std::move(builder.args);
  return r;
}

response created(core::per_worker_view const& v) {
  auto r = json_response(to_text(v), 201);
  r.headers.emplace_back("Location", "/api/v1/per_worker_values/" + core::text(v.id));
  return r;
}

coro::task<response> create_value(web_context& context, exchange& ex) {
  json_check check;
  json_ref const body(ex.req.body);
  auto const parsed = std::make_shared<per_worker_request>(read_request(check, body));
  if (check.failed()) return refused(check.failure());
  using result = muster::result<core::per_worker_view>;
  auto work = [parsed](server::hub& h, answer_handle<result> const& slot) {
    auto const [wrong, functions] = h.learn({parsed->function});
    if (!wrong.ok()) return slot->send(wrong);
    core::create_per_worker e;
    e.name = std::move(parsed->name);
    e.function = functions.front();
    e.args = std::move(parsed->args);
    h.ask(std::move(e), [&h, slot](core::reply const& r) {
      if (!r.status.ok()) return slot->send(r.status);
      slot->send(h.state().per_worker(std::get<core::per_worker_reply>(r.body).id));
    });
  };
  return ask<core::per_worker_view>(context, std::move(work), created);
}

coro::task<response> get_value(web_context& context, exchange& ex) {
  return with_id(ex, "per-worker value", server::parse_per_worker,
                 [&context](core::per_worker_id id) {
                   return look(context, [id](server::hub& h) { return h.state().per_worker(id); });
                 });
}

coro::task<response> list_values(web_context& context, exchange& ex) {
  query_check query(ex.req);
  auto const limit = query.limit();
  auto const after = core::per_worker_id{query.page_token('p')};
  if (query.failed()) return refused(query.failure());
  auto work = [after, limit](server::hub& h) { return h.state().per_worker_values(after, limit); };
  return look(context, std::move(work), as_page{"per_worker_values", 'p'});
}

coro::task<response> delete_value(web_context& context, exchange& ex) {
  return with_id(
      ex, "per-worker value", server::parse_per_worker, [&context](core::per_worker_id id) {
        return order(context, [id](server::hub& h, answer_handle<muster::status> const& slot) {
          h.ask(core::delete_per_worker{{}, id},
                [slot](core::reply const& r) { slot->send(r.status); });
        });
      });
}

}  // namespace

void add_per_worker_routes(std::vector<route>& to) {
  auto create =
      post("/api/v1/per_worker_values", create_value, "createPerWorkerValue",
           "Let every worker that has a function build a value and keep it", body_kind::json);
  create.success = 201;
  create.schema = "PerWorkerRequest";
  to.push_back(std::move(create));
  to.push_back(get("/api/v1/per_worker_values", list_values, "listPerWorkerValues",
                   "Per-worker values, in order of creation",
                   {limit_parameter, page_token_parameter}));
  to.push_back(get("/api/v1/per_worker_values/{id}", get_value, "getPerWorkerValue",
                   "One of them, with its status on each worker"));
  to.push_back(remove("/api/v1/per_worker_values/{id}", delete_value, "deletePerWorkerValue",
                      "Release it; workers drop it when no closure needs it any more"));
}

}  // namespace muster::web
