// RemoteValues: what is known of one, and its content.
#include "web/http/query.hpp"
#include "web/json/id_text.hpp"
#include "web/json/views_json.hpp"
#include "web/rest/handlers.hpp"

namespace muster::web {

namespace {

std::string_view content_type(core::blob const& b) {
  return b.encoding() == core::encoding::json ? "application/json" : "application/octet-stream";
}

std::string value_status_text(core::closure_view const& c) {
  std::string text;
  json_out out(text);
  out.begin_object();
  out.key("id").string(value_text(c.id));
  out.key("status").string(core::name(c.value));
  out.key("closure").string(closure_text(c.id));
  out.key("job").string(job_text(c.job));
  if (c.state == core::closure_state::succeeded) {
    if (!c.spilled && c.released.empty()) out.key("content_type").string(content_type(c.data));
    out.key("size").number(c.value_bytes);
    if (c.spilled) out.key("spilled").boolean(true);
    if (!c.released.empty()) out.key("released").string(c.released);
  }
  if (!c.attempts.empty()) out.key("worker").string(c.attempts.back().worker);
  if (c.error) {
    out.key("error");
    write(out, *c.error);
  }
  out.end_object();
  text += '\n';
  return text;
}

coro::task<response> get_remote_value(web_context& context, exchange& ex) {
  auto const id = parse_value(ex.req.capture("id"));
  if (!id) co_return problem_response(unknown_id("remote value", ex.req.capture("id")));
  auto work = [id = *id](server::hub& h) { return h.state().closure(id); };
  auto asking = context.engine.on_engine(std::move(work));
  auto const c = co_await std::move(asking);
  if (!c) co_return problem_response(c.error());
  co_return json_response(value_status_text(*c));
}

// A function's own error is the client's to handle (422); a value that will never come, because it
// was cancelled or its workers were lost, is a conflict (409).
problem value_problem(core::value_reply const& v) {
  auto p = make_problem(422, muster::code::unknown, v.failure.message);
  if (v.value == core::value_state::aborted) {
    p.status = 409;
    p.code = muster::code::aborted;
  } else if (v.state == core::closure_state::cancelled) {
    p.status = 409;
    p.code = muster::code::cancelled;
  } else if (v.failure.kind == core::failure_kind::dependency_lost) {
    p.status = 503;
    p.code = muster::code::unavailable;
  }
  p.failure = v.failure;
  return p;
}

coro::task<response> get_value(web_context& context, exchange& ex) {
  auto const id = parse_value(ex.req.capture("id"));
  if (!id) co_return problem_response(unknown_id("remote value", ex.req.capture("id")));
  query_check query(ex.req);
  auto const timeout = query.timeout();
  if (query.failed()) co_return problem_response(query.failure());

  using result = muster::result<core::value_reply>;
  auto work = [id = *id, timeout](server::hub& h, answer_handle<result> const& slot) {
    core::await_value e;
    e.closure = id;
    e.deadline = h.now() + timeout;
    auto const call = h.ask(e, [slot](core::reply const& r) {
      r.status.ok() ? slot->send(std::get<core::value_reply>(r.body)) : slot->send(r.status);
    });
    slot->parked_as(call);
  };
  auto asking = context.engine.call<result>(std::move(work),
                                            timeout + context.options.timeouts.engine, &ex.peer());
  auto const v = co_await std::move(asking);
  if (!v) co_return problem_response(v.error());
  if (v->state != core::closure_state::succeeded) co_return problem_response(value_problem(*v));
  response r;
  r.content_type = content_type(v->data);
  r.shared = v->data;
  co_return r;
}

}  // namespace

void add_value_routes(std::vector<route>& to) {
  to.push_back({"GET", "/api/v1/remote_values/{id}", get_remote_value, "getRemoteValue",
                "Status of a RemoteValue"});
  to.push_back(
      {"GET",
       "/api/v1/remote_values/{id}/value",
       get_value,
       "fetchValue",
       "The value itself, waiting until it is ready",
       200,
       "*/*",
       body_kind::none,
       {{"timeout", query_kind::duration, "how long to wait, 30s unless told, 10m at most"}}});
}

}  // namespace muster::web
