#include "server/core/queries/value_queries.hpp"
#include "server/hub/id_parsing.hpp"
#include "web/json/submission_json.hpp"
#include "web/rest/answers.hpp"
#include "web/rest/caller_check.hpp"
#include "web/rest/cluster_access.hpp"

namespace muster::web {

namespace {

response created(core::per_worker_view const& v) {
  auto r = json_response(to_text(v), 201);
  r.headers.emplace_back("Location", "/api/v1/per_worker_values/" + core::text(v.id));
  return r;
}

coro::task<response> create_value(web_context& context, exchange& ex) {
  json_check check;
  json_ref const body(ex.req.body);
  auto const parsed = std::make_shared<per_worker_request>(read_per_worker(check, body));
  if (check.failed()) return refused(check.failure());
  if (auto p = check_cluster(context, ex.req, parsed->cluster)) return refused(std::move(*p));
  if (auto p = check_function(ex.req, parsed->function)) return refused(std::move(*p));
  auto by = ex.req.who ? ex.req.who->id : std::string();
  auto work = [parsed, by = std::move(by)](server::hub& h, auto const& slot) {
    auto const [wrong, functions] = h.learn({parsed->function});
    if (!wrong.ok()) return slot->send(wrong);
    core::create_per_worker e;
    e.name = std::move(parsed->name);
    e.function = functions.front();
    e.args = std::move(parsed->args);
    e.submitted_by = by;
    h.ask(std::move(e), [&h, slot](core::reply const& r) {
      if (!r.status.ok()) return slot->send(r.status);
      slot->send(h.state().per_worker().find(std::get<core::per_worker_reply>(r.body).id));
    });
  };
  auto const added = [](server::hub&) { return added_entries{0, 1}; };
  return ask<core::per_worker_view>(
      context, with_room_for(ex.req.who, parsed->cluster, added, std::move(work)), created);
}

coro::task<response> get_value(web_context& context, exchange& ex) {
  return with_id(ex, "per-worker value", server::parse_per_worker,
                 [&context](core::per_worker_id id) {
                   auto work = [id](server::hub& h) { return h.state().per_worker().find(id); };
                   return respond_with(context, in_pool_of(id, std::move(work)));
                 });
}

coro::task<response> list_values(web_context& context, exchange& ex) {
  query_check query(ex.req);
  auto const limit = query.limit();
  auto const after = core::per_worker_id{query.page_token('p')};
  auto work = [after, limit](server::hub& h) { return h.state().per_worker().list(after, limit); };
  return respond_with(context, in_pool_named(ex, std::move(work)),
                      as_page{"per_worker_values", 'p'});
}

coro::task<response> delete_value(web_context& context, exchange& ex) {
  return with_id(ex, "per-worker value", server::parse_per_worker,
                 [&context](core::per_worker_id id) {
                   auto work = [id](server::hub& h, auto const& slot) {
                     h.ask(core::delete_per_worker{{}, id},
                           [slot](core::reply const& r) { slot->send(r.status); });
                   };
                   return order(context, in_pool_of(id, std::move(work)));
                 });
}

}  // namespace

void add_per_worker_routes(std::vector<route>& to) {
  to.push_back(
      post("/api/v1/per_worker_values", create_value, "createPerWorkerValue",
           "Create a value on every worker that provides a function")
          .takes(body_kind::json, "PerWorkerRequest",
                 R"({"function":"muster.echo","name":"cache","args":[42]})")
          .responds_with("PerWorkerView", schema_of<core::per_worker_view>, 201)
          .also(404, "No such cluster")
          .also(
              422,
              "The request is well-formed but cannot be carried out; `field` identifies the cause")
          .also(429, "The server has reached its limit on per-worker values"));
  to.push_back(get("/api/v1/per_worker_values", list_values, "listPerWorkerValues",
                   "List per-worker values in order of creation")
                   .with({cluster_parameter, limit_parameter, page_token_parameter("p")})
                   .responds_with("PerWorkerPage",
                                  [] { return page_schema("per_worker_values", "PerWorkerView"); })
                   .also(404, "No such cluster"));
  to.push_back(get("/api/v1/per_worker_values/{id}", get_value, "getPerWorkerValue",
                   "Get a per-worker value with its status on each worker")
                   .responds_with("PerWorkerView"));
  to.push_back(remove("/api/v1/per_worker_values/{id}", delete_value, "deletePerWorkerValue",
                      "Release a per-worker value; workers delete it when no closure needs it"));
}

}  // namespace muster::web
