// The role is checked first, because this check needs no engine call.
#include "web/rest/caller_check.hpp"

#include <algorithm>

#include "server/core/programs/controller.hpp"
#include "server/core/queries/closure_queries.hpp"
#include "server/core/queries/session_queries.hpp"
#include "server/core/queries/value_queries.hpp"
#include "server/hub/access/gate.hpp"
#include "server/hub/access/program_scope.hpp"
#include "server/hub/access/token_keeper.hpp"
#include "server/hub/access/token_text.hpp"
#include "server/hub/access/use.hpp"
#include "server/hub/id_parsing.hpp"
#include "web/rest/sign_ins.hpp"

namespace muster::web {

namespace {

struct whose {
  std::string cluster, submitter;
};

std::optional<whose> whose_of(engine_services& services, std::string_view id) {
  core::session_id session{};
  auto const of_hub = [&](server::hub& h) {
    return whose{h.cluster(), std::string(h.state().sessions().submitter(session))};
  };
  if (auto const job = server::parse_job(id)) {
    session = *job;
    return of_hub(services.pools.of(*job));
  }
  if (auto const value = server::parse_per_worker(id)) {
    auto& h = services.pools.of(*value);
    auto const v = h.state().per_worker().find(*value);
    if (v && v->owner == core::session_id{}) return whose{h.cluster(), v->submitted_by};
    if (v) session = v->owner;
    return of_hub(h);
  }
  if (auto const program = server::parse_program(id)) {
    auto& h = services.pools.of(*program);
    auto const p = h.state().programs().find(*program);
    return whose{h.cluster(), p ? p->spec.submitted_by : std::string()};
  }
  auto closure = server::parse_closure(id);
  if (!closure) closure = server::parse_value(id);
  if (!closure) return {};
  auto& h = services.pools.of(*closure);
  if (auto const v = h.state().closures().find(*closure)) session = v->job;
  return of_hub(h);
}

std::string id_in(request const& req) {
  if (auto const id = req.capture("id"); !id.empty()) return std::string(id);
  auto const job = req.parameter("job");
  return server::parse_job(job) ? std::string(job) : std::string();
}

bool takes_cluster(route const& r) {
  return r.pattern.find("{cluster}") != std::string_view::npos ||
         std::any_of(r.query.begin(), r.query.end(),
                     [](auto const& q) { return q.name == "cluster"; });
}

std::optional<problem> check_whole_server(request const& req) {
  if (!req.who || req.who->clusters.empty()) return {};
  return make_problem(403, muster::code::permission_denied,
                      "token '" + req.who->id +
                          "' is limited to certain clusters, but this operation covers the whole "
                          "server; use a token without --cluster",
                      "cluster");
}

}  // namespace

std::optional<problem> check_caller(web_context& context, request& req, core::permission needs,
                                    std::chrono::milliseconds& delay,
                                    std::shared_ptr<void>& place) {
  if (context.options.read_only && needs != core::permission::nothing &&
      !core::allows(core::role::viewer, needs))
    return make_problem(403, muster::code::permission_denied,
                        "this server is read-only: it shows the data of a stopped server");
  auto* const gate = context.options.gate;
  if (!gate || !gate->required()) return {};
  auto const credential = server::bearer_of(req.authorization);
  auto const signed_in = credential.empty()
                             ? context.sign_ins.find(sign_in_of(context.options, req), *gate,
                                                     sign_in_table::clock::now())
                             : nullptr;
  auto who = signed_in && core::allows(signed_in->role, needs) ? signed_in
                                                               : gate->known(credential, needs);
  if (!who) {
    auto const what = req.method + " " + req.path.substr(0, 200);
    auto v = gate->judge({credential, req.address, what, needs, req.certificate, false, signed_in});
    delay = v.delay;
    place = std::move(v.place);
    if (!v.status.ok()) return refusal_problem(v.status);
    who = std::move(v.who);
  }
  // A page from another site can make the browser send the cookie, but cannot send our origin.
  if (signed_in && changes_state(req.method) && req.origin.empty())
    return make_problem(403, muster::code::permission_denied,
                        "Origin: required in a request with a session cookie", "Origin");
  req.who = std::move(who);
  return {};
}

std::function<bool()> sign_in_check(web_context& context, request const& req) {
  auto* const gate = context.options.gate;
  bool const by_cookie = gate && gate->required() && server::bearer_of(req.authorization).empty();
  auto is_valid = [&context, gate, identifier = std::string(sign_in_of(context.options, req))] {
    return context.sign_ins.find(identifier, *gate, sign_in_table::clock::now()) != nullptr;
  };
  if (!by_cookie || !is_valid()) return [] { return true; };
  return is_valid;
}

coro::task<std::optional<problem>> check_access(web_context& context, exchange& ex,
                                                route const& r) {
  std::chrono::milliseconds delay{0};
  std::shared_ptr<void> place;
  auto p = check_caller(context, ex.req, r.needs, delay, place);
  if (delay.count() > 0) co_await context.engine.pause(delay);
  auto const& who = ex.req.who;
  bool const open = r.needs == core::permission::nothing || r.needs == core::permission::share;
  if (p || !who || open) co_return p;
  bool const bound = !who->clusters.empty();
  bool const own_only = changes_state(r.method) && r.needs == core::permission::submit &&
                        who->role != core::role::admin;
  if (!bound && !own_only) co_return p;
  auto const named = ex.req.capture("cluster");
  auto const asked = ex.req.parameter("cluster");
  auto const id = named.empty() ? id_in(ex.req) : std::string();
  if (!id.empty()) {
    auto work = [id](engine_services& services) { return whose_of(services, id); };
    auto const found = co_await context.engine.on_engine(std::move(work));
    if (!found) co_return to_problem(found.error());
    if (!*found) co_return p;
    if (own_only && !core::can_change(who, (*found)->submitter))
      co_return make_problem(403, muster::code::permission_denied,
                             "'" + id + "' was submitted with token '" + (*found)->submitter +
                                 "', and token '" + who->id + "' is not an admin token");
    if (bound) p = check_cluster(context, ex.req, (*found)->cluster);
    if (bound && !p && !asked.empty()) p = check_cluster(context, ex.req, asked);
    co_return p;
  }
  if (!bound || r.names_cluster) co_return p;
  if (r.scoped && asked.empty()) co_return p;
  if (!takes_cluster(r)) co_return check_whole_server(ex.req);
  auto const cluster = named.empty() ? asked : named;
  p = check_cluster(context, ex.req, cluster);
  if (!p || !server::parse_program(cluster)) co_return p;
  auto work = [scope = scope_of(context, ex.req), name = std::string(cluster)](
                  engine_services& services) { return server::sees(*scope, services.pools, name); };
  auto const its_programs = co_await context.engine.on_engine(std::move(work));
  if (its_programs && *its_programs) co_return std::nullopt;
  co_return p;
}

void audit(web_context& context, request const& req, unsigned status) {
  auto line = req.method + " " + req.path.substr(0, 200) + " " + std::to_string(status);
  context.engine.post([who = req.who, from = req.address,
                       cluster = std::string(req.capture("cluster")),
                       line = std::move(line)](engine_services& services) {
    if (auto* const keeper = services.tokens) keeper->audit(who, from, cluster, line);
  });
}

server::shared_scope scope_of(web_context const& context, request const& req) {
  return std::make_shared<server::cluster_scope>(req.who, context.options.main_cluster);
}

problem refusal_problem(muster::status const& refused) {
  auto p = to_problem(refused);
  if (refused.code == muster::code::permission_denied) p.field = "role";
  return p;
}

std::optional<problem> check_cluster(web_context const& context, request const& req,
                                     std::string_view cluster) {
  if (scope_of(context, req)->sees(cluster)) return {};
  return make_problem(
      403, muster::code::permission_denied,
      "token '" + req.who->id + "' is not valid for cluster '" +
          std::string(cluster.empty() ? std::string_view(context.options.main_cluster) : cluster) +
          "'",
      "cluster");
}

std::optional<problem> check_function(request const& req, std::string_view function) {
  auto const bad = server::check_function(req.who, function);
  if (bad.ok()) return {};
  auto p = to_problem(bad);
  p.field = "function";
  return p;
}

std::optional<problem> check_functions(request const& req, server::submission const& closures) {
  for (auto const& name : closures.names())
    if (auto p = check_function(req, name)) return p;
  return {};
}

muster::result<server::hub*> hub_at(engine_services& services, target const& at) {
  if (auto const* session = std::get_if<core::session_id>(&at)) return &services.pools.of(*session);
  auto pool = services.pools.named(std::get<std::string>(at));
  if (pool) return pool;
  return wrong_field("cluster", pool.error().message, 0, pool.error().code);
}

muster::status room_for(engine_services& services, core::caller const& who, added_entries added) {
  if (!who || added.sessions + added.entries == 0) return {};
  return server::room_of(*who, services.pools, added.sessions, added.entries);
}

}  // namespace muster::web
