// Closures: list those of a job, look at one, ask why, cancel.
#include "base/text.hpp"
#include "web/http/query.hpp"
#include "web/json/id_text.hpp"
#include "web/json/log_json.hpp"
#include "web/json/views_json.hpp"
#include "web/rest/handlers.hpp"

namespace muster::web {

namespace {

using closure_page = core::page<reported_closure, std::uint32_t>;

muster::result<reported_closure> closure_of(server::hub& h, core::closure_id id) {
  auto c = h.state().closure(id);
  if (!c) return c.error();
  return reported_closure{std::move(*c), h.logs().progress(id)};
}

std::optional<core::closure_state> closure_state_named(std::string_view text) {
  using enum core::closure_state;
  for (auto const s : {blocked, queued, running, succeeded, failed, cancelled})
    if (equal_ignoring_case(text, core::name(s))) return s;
  return {};
}

// The ids of functions are their positions; nothing when nobody has ever named it.
std::optional<core::function_id> find_function(core::coordinator const& core,
                                               std::string_view name) {
  auto const all = core.functions();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].name == name) return core::function_id{static_cast<std::uint32_t>(i)};
  return {};
}

muster::result<closure_page> page_of(server::hub& h, core::session_id job, std::uint32_t from,
                                     std::size_t limit, std::optional<core::closure_state> state,
                                     std::string const& function) {
  auto const& core = h.state();
  core::coordinator::closure_filter filter;
  filter.state = state;
  if (!function.empty()) {
    filter.function = find_function(core, function);
    if (!filter.function) {
      if (auto known = core.job(job); !known) return known.error();
      return closure_page{};
    }
  }
  auto found = core.closures(job, from, limit, filter);
  if (!found) return found.error();
  closure_page page;
  page.next = found->next;
  for (auto& c : found->items) {
    auto progress = h.logs().progress(c.id);
    page.items.push_back({std::move(c), std::move(progress)});
  }
  return page;
}

std::string page_text(closure_page const& page) {
  std::string text;
  json_out out(text);
  out.begin_object().key("closures").begin_array();
  for (auto const& c : page.items) write(out, c);
  out.end_array();
  if (page.next) out.key("next_page_token").string(page_token('c', *page.next));
  out.end_object();
  text += '\n';
  return text;
}

coro::task<response> list_closures(web_context& context, exchange& ex) {
  auto const id = parse_job(ex.req.capture("id"));
  if (!id) co_return problem_response(unknown_id("job", ex.req.capture("id")));
  query_check query(ex.req);
  auto const limit = query.limit();
  auto const token = query.page_token('c');
  if (token > UINT32_MAX) query.fail("page_token", "is not of this listing");
  auto const state = closure_state_named(query.text("state"));
  if (!query.text("state").empty() && !state)
    query.fail("state", "expected BLOCKED, QUEUED, RUNNING, SUCCEEDED, FAILED or CANCELLED");
  if (query.failed()) co_return problem_response(query.failure());

  auto work = [id = *id, from = static_cast<std::uint32_t>(token), limit, state,
               function = std::string(query.text("function"))](server::hub& h) {
    return page_of(h, id, from, limit, state, function);
  };
  auto asking = context.engine.on_engine(std::move(work));
  auto const page = co_await std::move(asking);
  if (!page) co_return problem_response(page.error());
  co_return json_response(page_text(*page));
}

coro::task<response> get_closure(web_context& context, exchange& ex) {
  auto const id = parse_closure(ex.req.capture("id"));
  if (!id) co_return problem_response(unknown_id("closure", ex.req.capture("id")));
  auto work = [id = *id](server::hub& h) { return closure_of(h, id); };
  auto asking = context.engine.on_engine(std::move(work));
  auto const c = co_await std::move(asking);
  if (!c) co_return problem_response(c.error());
  co_return json_response(to_text(*c));
}

struct explained {
  core::closure_state state{};
  std::string why;
};

coro::task<response> explain_closure(web_context& context, exchange& ex) {
  auto const id = parse_closure(ex.req.capture("id"));
  if (!id) co_return problem_response(unknown_id("closure", ex.req.capture("id")));
  auto work = [id = *id](server::hub& h) -> muster::result<explained> {
    auto why = h.state().explain(id, h.now());
    if (!why) return why.error();
    explained e;
    if (auto c = h.state().closure(id)) e.state = c->state;
    e.why = std::move(*why);
    return e;
  };
  auto asking = context.engine.on_engine(std::move(work));
  auto const e = co_await std::move(asking);
  if (!e) co_return problem_response(e.error());
  std::string text;
  json_out out(text);
  out.begin_object();
  out.key("id").string(closure_text(*id));
  out.key("state").string(core::name(e->state));
  out.key("explanation").string(e->why);
  out.end_object();
  text += '\n';
  co_return json_response(std::move(text));
}

coro::task<response> cancel_closure(web_context& context, exchange& ex) {
  auto const id = parse_closure(ex.req.capture("id"));
  if (!id) co_return problem_response(unknown_id("closure", ex.req.capture("id")));
  using result = muster::result<reported_closure>;
  auto work = [id = *id](server::hub& h, answer_handle<result> const& slot) {
    core::cancel_closure e;
    e.closure = id;
    h.ask(e, [&h, slot, id](core::reply const& r) {
      r.status.ok() ? slot->send(closure_of(h, id)) : slot->send(r.status);
    });
  };
  auto asking =
      context.engine.call<result>(std::move(work), context.options.timeouts.engine, nullptr);
  auto const c = co_await std::move(asking);
  if (!c) co_return problem_response(c.error());
  co_return json_response(to_text(*c));
}

}  // namespace

void add_closure_routes(std::vector<route>& to) {
  to.push_back(
      {"GET",
       "/api/v1/jobs/{id}/closures",
       list_closures,
       "listClosures",
       "Closures of a job in schedule order",
       200,
       "application/json",
       body_kind::none,
       {{"state", query_kind::text, "only closures in this state"},
        {"function", query_kind::text, "only closures of this function"},
        {"limit", query_kind::number, "entries of the page, 100 unless told, 1000 at most"},
        {"page_token", query_kind::text, "next_page_token of the page before"}}});
  to.push_back(
      {"GET", "/api/v1/closures/{id}", get_closure, "getClosure", "One closure with its attempts"});
  to.push_back({"GET", "/api/v1/closures/{id}/explain", explain_closure, "explainClosure",
                "Why it waits, moved or failed"});
  to.push_back({"POST", "/api/v1/closures/{id}/cancel", cancel_closure, "cancelClosure",
                "Cancel one closure"});
}

}  // namespace muster::web
