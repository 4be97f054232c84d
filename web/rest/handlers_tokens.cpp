#include "server/hub/access/token_text.hpp"
#include "web/json/token_json.hpp"
#include "web/live/websocket_hub.hpp"
#include "web/metrics/metric_text.hpp"
#include "web/rest/answers.hpp"
#include "web/rest/caller_check.hpp"
#include "web/rest/sign_ins.hpp"
#include "web/rest/submit.hpp"

namespace muster::web {

namespace {

using made = muster::result<server::new_token>;

muster::status no_tokens() {
  return {muster::code::unimplemented, "this server has no tokens"};
}

void delete_token_cookie(web_context const& context, request const& req, response& r) {
  if (has_token_cookie(req))
    r.headers.emplace_back("Set-Cookie", set_cookie(context.options, old_token_cookie, "", {}));
}

response with_secret(server::new_token const& t, unsigned status) {
  auto r = json_response(to_text(t), status);
  r.headers.emplace_back("Cache-Control", "no-store");
  return r;
}

// Returns work that calls `change(keeper)` and responds once the result is durable.
template <class R, class Change>
auto keeping(Change change) {
  return [change = std::move(change)](engine_services& services,
                                      answer_handle<R> const& slot) mutable {
    auto* const keeper = services.tokens;
    if (!keeper) return slot->send(no_tokens());
    auto done = std::make_shared<R>(change(*keeper));
    services.coordination.when_durable([slot, done](muster::status const& lost) {
      lost.ok() ? slot->send(std::move(*done)) : slot->send(lost);
    });
  };
}

coro::task<response> create_token(web_context& context, exchange& ex) {
  json_check check;
  json_ref const body(ex.req.body);
  auto const wanted = read_token(check, body);
  if (check.failed()) co_return problem_response(check.failure());
  auto work = keeping<made>([wanted, who = ex.req.who](server::token_keeper& keeper) {
    return keeper.create(wanted, who);
  });
  auto const token = co_await context.engine.call<made>(std::move(work));
  co_return token ? with_secret(*token, 201) : problem_response(submission_problem(token.error()));
}

// The caller receives the response even if the request ends the caller's own token.
void note_own_token(request& req) {
  req.ends_own_token = req.who && req.who->id == req.capture("id");
}

coro::task<response> rotate_token(web_context& context, exchange& ex) {
  note_own_token(ex.req);
  auto work = keeping<made>([id = std::string(ex.req.capture("id"))](server::token_keeper& keeper) {
    return keeper.rotate(id);
  });
  return ask<server::new_token>(context, std::move(work),
                                [](server::new_token const& t) { return with_secret(t, 200); });
}

coro::task<response> revoke_token(web_context& context, exchange& ex) {
  note_own_token(ex.req);
  auto work =
      keeping<muster::status>([id = std::string(ex.req.capture("id"))](
                                  server::token_keeper& keeper) { return keeper.revoke(id); });
  return order(context, std::move(work));
}

coro::task<response> list_tokens(web_context& context, exchange& ex) {
  query_check query(ex.req);
  auto const limit = query.limit();
  auto const after = query.page_text('k');
  auto work = [limit, after](engine_services& services) {
    std::vector<core::caller> page;
    auto* const keeper = services.tokens;
    if (!keeper) return page;
    auto const& all = keeper->state().all();
    auto it = after.empty() ? all.begin() : all.upper_bound(after);
    for (; it != all.end() && page.size() <= limit; ++it) page.push_back(it->second);
    return page;
  };
  return respond_with(context, std::move(work), [limit](std::vector<core::caller> page) {
    std::string next;
    if (page.size() > limit) {
      page.pop_back();
      next = page_token('k', std::string_view(page.back()->id));
    }
    return page_response("tokens", next, [&page](json_out& out) {
      for (auto const& t : page) write(out, *t);
    });
  });
}

response who_am_i(web_context const& context, core::caller const& who) {
  auto const* const gate = context.options.gate;
  bool const required = gate && gate->required();
  return json_response(
      to_text(session_state{required, !required || who, who, context.options.read_only}));
}

coro::task<response> get_session(web_context& context, exchange& ex) {
  auto r = who_am_i(context, ex.req.who);
  delete_token_cookie(context, ex.req, r);
  return answered(std::move(r));
}

// The next tick of the WebSocket hub closes the WebSockets of this sign-in.
void end_sign_in(web_context& context, request const& req) {
  context.sign_ins.remove(sign_in_of(context.options, req));
  context.sockets.hurry();
}

coro::task<response> sign_in(web_context& context, exchange& ex) {
  json_check check;
  json_ref const body(ex.req.body);
  auto const credential = read_sign_in(check, body);
  if (check.failed()) co_return problem_response(check.failure());
  auto* const gate = context.options.gate;
  if (!gate || !gate->required()) co_return who_am_i(context, nullptr);
  auto v = gate->judge({credential, ex.req.address, "sign in", core::permission::view});
  if (v.delay.count() > 0) {
    co_await context.engine.pause(v.delay);
  }
  if (!v.status.ok()) co_return problem_response(refusal_problem(v.status));
  auto r = who_am_i(context, v.who);
  // because a browser has only one sign-in
  end_sign_in(context, ex.req);
  auto const identifier = context.sign_ins.add(v.who, sign_in_table::clock::now());
  auto const name = sign_in_cookie_name(context.options, ex.req);
  r.headers.emplace_back("Set-Cookie",
                         set_cookie(context.options, name, identifier, sign_in_table::lifetime));
  delete_token_cookie(context, ex.req, r);
  r.headers.emplace_back("Cache-Control", "no-store");
  co_return r;
}

coro::task<response> sign_out(web_context& context, exchange& ex) {
  end_sign_in(context, ex.req);
  auto r = no_content();
  auto const name = sign_in_cookie_name(context.options, ex.req);
  r.headers.emplace_back("Set-Cookie", set_cookie(context.options, name, "", {}));
  delete_token_cookie(context, ex.req, r);
  return answered(std::move(r));
}

}  // namespace

std::string token_metrics(web_context const& context) {
  auto const& options = context.options;
  metric_text m;
  auto const c = options.gate ? options.gate->counts() : server::gate::totals{};
  m.gauge("muster_auth_required", "1 if every caller must send a token.",
          options.gate && options.gate->required() ? 1 : 0);
  m.gauge("muster_tokens", "Known tokens.", c.tokens);
  m.gauge("muster_sign_ins", "Browsers signed in to the dashboard.", context.sign_ins.size());
  m.family("muster_access_refused_total", "counter",
           "Calls and requests that were refused, by reason.")
      .sample("reason", "no_token", c.without)
      .sample("reason", "wrong_token", c.wrong)
      .sample("reason", "role", c.forbidden);
  m.counter("muster_grpc_calls_reset_total",
            "gRPC calls that clients reset soon after opening them.", c.resets);
  m.counter("muster_grpc_connections_cut_total",
            "gRPC connections closed because of too many reset calls.", c.cut);
  m.counter("muster_silent_floods_total",
            "Times that an address exceeded the limit on connections that are opened and closed "
            "without a request.",
            c.silent_floods);
  return m.take();
}

void add_token_routes(std::vector<route>& to) {
  constexpr std::string_view nowhere =
      "The server does not store tokens, or this is the last admin token";
  to.push_back(
      get("/api/v1/tokens", list_tokens, "listTokens", "List tokens, without their secrets")
          .with({limit_parameter, page_token_parameter("k", query_kind::page_text)})
          .responds_with("TokenPage"));
  to.push_back(
      post("/api/v1/tokens", create_token, "createToken",
           "Create a token; its secret is returned only in this response")
          .takes(body_kind::json, "TokenRequest",
                 R"({"role":"submitter","name":"ci","expires":"30d"})")
          .responds_with("NewToken", {}, 201)
          .also(409, nowhere)
          .also(
              422,
              "The request is well-formed but cannot be carried out; `field` identifies the cause")
          .also(429, "The server has reached its limit on tokens"));
  to.push_back(post("/api/v1/tokens/{id}/rotate", rotate_token, "rotateToken",
                    "Replace the secret of a token; the old secret becomes invalid, and everything "
                    "started with it ends immediately")
                   .responds_with("NewToken")
                   .also(404, "No such token")
                   .also(409, nowhere));
  to.push_back(remove("/api/v1/tokens/{id}", revoke_token, "revokeToken",
                      "Revoke a token, and immediately end everything that was started with it")
                   .also(404, "No such token")
                   .also(409, nowhere));
  to.push_back(get("/api/v1/session", get_session, "getSession", "Get the caller's identity")
                   .responds_with("Session"));
  to.push_back(post("/api/v1/session", sign_in, "signIn", "Sign in a browser: set a session cookie")
                   .takes(body_kind::json, "SignIn", R"({"token":"mst_example"})")
                   .responds_with("Session")
                   .also(422, "The token is too long")
                   .also(401, "This token is unknown, revoked or expired"));
  to.push_back(remove("/api/v1/session", sign_out, "signOut",
                      "Sign out a browser: end its session and delete the cookie"));
}

}  // namespace muster::web
