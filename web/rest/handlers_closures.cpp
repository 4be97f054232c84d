// Closures: list those of a job, look at one, ask why, cancel.
#include "base/text.hpp"
#include "server/hub/id_text.hpp"
#include "web/json/log_json.hpp"
#include "web/rest/answers.hpp"

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

coro::task<response> list_closures(web_context& context, exchange& ex) {
  return with_id(ex, "job", server::parse_job, [&](core::session_id id) {
    query_check query(ex.req);
    auto const limit = query.limit();
    auto const token = query.page_token('c');
    auto const state = closure_state_named(query.text("state"));
    auto work = [id, from = static_cast<std::uint32_t>(std::min<std::uint64_t>(token, UINT32_MAX)),
                 limit, state, function = std::string(query.text("function"))](server::hub& h) {
      return page_of(h, id, from, limit, state, function);
    };
    return look(context, in_pool_of(id, std::move(work)), as_page{"closures", 'c'});
  });
}

coro::task<response> get_closure(web_context& context, exchange& ex) {
  return with_id(ex, "closure", server::parse_closure, [&context](core::closure_id id) {
    auto work = [id](server::hub& h) { return closure_of(h, id); };
    return look(context, in_pool_of(id, std::move(work)));
  });
}

struct explained {
  core::closure_id id{};
  core::closure_state state{};
  std::string why;
};

void write(json_out& out, explained const& e) {
  auto const object = out.object();
  out.key("id").string(core::text(e.id));
  out.key("state").string(core::name(e.state));
  out.key("explanation").string(e.why);
}

coro::task<response> explain_closure(web_context& context, exchange& ex) {
  return with_id(ex, "closure", server::parse_closure, [&context](core::closure_id id) {
    auto work = [id](server::hub& h) -> muster::result<explained> {
      auto why = h.state().explain(id, h.now());
      if (!why) return why.error();
      explained e{id, {}, std::move(*why)};
      if (auto c = h.state().closure(id)) e.state = c->state;
      return e;
    };
    return look(context, in_pool_of(id, std::move(work)));
  });
}

coro::task<response> cancel_closure(web_context& context, exchange& ex) {
  return with_id(ex, "closure", server::parse_closure, [&context](core::closure_id id) {
    using result = muster::result<reported_closure>;
    auto work = [id](server::hub& h, answer_handle<result> const& slot) {
      core::cancel_closure e;
      e.closure = id;
      h.ask(e, [&h, slot, id](core::reply const& r) {
        r.status.ok() ? slot->send(closure_of(h, id)) : slot->send(r.status);
      });
    };
    return ask<reported_closure>(context, in_pool_of(id, std::move(work)));
  });
}

}  // namespace

void add_closure_routes(std::vector<route>& to) {
  static constexpr std::string_view states[] = {"BLOCKED",   "QUEUED", "RUNNING",
                                                "SUCCEEDED", "FAILED", "CANCELLED"};
  to.push_back(get("/api/v1/jobs/{id}/closures", list_closures, "listClosures",
                   "Closures of a job in schedule order")
                   .with({{.name = "state",
                           .kind = query_kind::choice,
                           .meaning = "only closures in this state",
                           .choices = states},
                          {"function", query_kind::text, "only closures of this function"},
                          limit_parameter,
                          page_token_parameter("c")})
                   .tells("ClosurePage"));
  to.push_back(
      get("/api/v1/closures/{id}", get_closure, "getClosure", "One closure with its attempts")
          .tells("ClosureView"));
  to.push_back(get("/api/v1/closures/{id}/explain", explain_closure, "explainClosure",
                   "Why it waits, moved or failed")
                   .tells("Explanation"));
  to.push_back(
      post("/api/v1/closures/{id}/cancel", cancel_closure, "cancelClosure", "Cancel one closure")
          .tells("ClosureView"));
}

}  // namespace muster::web
