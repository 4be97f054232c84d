#include "server/core/queries/closure_queries.hpp"
#include "server/core/texts/explanation_texts.hpp"
#include "server/hub/id_parsing.hpp"
#include "web/rest/answers.hpp"

namespace muster::web {

namespace {

std::string_view content_type(core::blob const& b) {
  return b.encoding() == core::encoding::json ? "application/json" : "application/octet-stream";
}

void value_members(member_list const& m, core::closure_view const& c) {
  m("id", value_id{c.id});
  m("status", c.value);
  m("closure", c.id);
  m("job", c.job);
  auto const made = m.when(c.state == core::closure_state::succeeded);
  made.when(!c.spilled && c.released.empty())
      .word("content_type", content_type(c.data), {"application/json", "application/octet-stream"});
  made("size", c.value_bytes, "size in bytes; for a blob, the size of the blob");
  made.some("spilled", c.spilled);
  made.some("released", c.released);
  m.when(!c.attempts.empty())("worker", c.attempts.empty()
                                            ? std::string_view()
                                            : std::string_view(c.attempts.back().worker));
  m.some("error", c.error);
}

coro::task<response> get_remote_value(web_context& context, exchange& ex) {
  return with_id(ex, "remote value", server::parse_value, [&context](core::closure_id id) {
    return respond_with(
        context, in_pool_of(id, [id](server::hub& h) { return h.state().closures().find(id); }),
        as_members<value_members>);
  });
}

// The client must handle an error that the function raised (422). A value that was cancelled or
// lost with its workers is a conflict (409).
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

response fetched(core::value_reply v) {
  if (v.state != core::closure_state::succeeded) return problem_response(value_problem(v));
  response r;
  r.content_type = content_type(v.data);
  r.shared = std::move(v.data);
  return r;
}

coro::task<response> get_value(web_context& context, exchange& ex) {
  return with_id(ex, "remote value", server::parse_value, [&](core::closure_id id) {
    query_check query(ex.req);
    auto const timeout = query.timeout();
    auto work = [id, timeout](server::hub& h, value_handle const& slot) {
      await_value(h, id, timeout, slot);
    };
    return wait<core::value_reply>(context, ex, timeout, std::move(work), fetched);
  });
}

}  // namespace

void await_value(server::hub& h, core::closure_id id, core::duration time,
                 value_handle const& slot) {
  core::await_value e;
  e.closure = id;
  e.deadline = h.now() + time;
  auto const call = h.ask(e, [&h, id, slot](core::reply const& r) {
    if (r.status.ok()) return slot->send(std::get<core::value_reply>(r.body));
    auto status = r.status;
    if (status.code == muster::code::deadline_exceeded)
      if (auto const why = h.state().closures().explain(id, h.now()))
        status.message += ": " + text(*why);
    slot->send(std::move(status));
  });
  slot->parked_as(call);
}

void add_value_routes(std::vector<route>& to) {
  to.push_back(get("/api/v1/remote_values/{id}", get_remote_value, "getRemoteValue",
                   "Get the status of a RemoteValue")
                   .responds_with("RemoteValueView", schema_of_members<value_members>));
  to.push_back(
      get("/api/v1/remote_values/{id}/value", get_value, "fetchValue",
          "Get the value, waiting until it is ready")
          .with({timeout_parameter})
          .as({"application/json", "application/octet-stream"})
          .responds_with("")
          .also(409,
                "The value will never be ready: the closure was cancelled or its workers were lost")
          .also(422, "The function failed; `failure` contains the error")
          .also(429, "The server has reached its limit on waiting calls")
          .also(504, "The wait for the value timed out"));
}

}  // namespace muster::web
