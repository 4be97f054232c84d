#include "base/text.hpp"
#include "server/core/texts/explanation_texts.hpp"
#include "server/history/closures.hpp"
#include "server/hub/blob_store.hpp"
#include "server/hub/id_parsing.hpp"
#include "web/rest/closure_listing.hpp"

namespace muster::web {

namespace {

muster::result<reported_closure> closure_of(server::hub& h, core::closure_id id,
                                            core::session_id of = {}) {
  auto c = history::closure(h.past(), h.state(), id, of);
  if (!c) return c.error();
  return reported_closure{std::move(*c), h.logs().progress(id)};
}

core::closure_states states_named(std::string_view text) {
  using enum core::closure_state;
  if (text.empty()) return core::any_state;
  if (equal_ignoring_case(text, "UNFINISHED")) return core::unfinished_states;
  if (equal_ignoring_case(text, "ENDED_BADLY")) return core::ended_badly_states;
  for (auto const s : {blocked, queued, running, succeeded, failed, cancelled})
    if (equal_ignoring_case(text, core::name(s))) return core::bit(s);
  return 0;
}

core::listing_order order_named(std::string_view text) {
  if (equal_ignoring_case(text, "started")) return core::listing_order::by_start;
  if (equal_ignoring_case(text, "duration")) return core::listing_order::by_duration;
  return core::listing_order::by_index;
}

void closure_page_members(member_list const& m, listing_page const& page,
                          core::closure_query const& q) {
  listing_members(
      m, "closures", 'c', page, q, [](reported_closure const& c) -> auto const& { return c; });
}

coro::task<response> list_closures(web_context& context, exchange& ex) {
  auto const id = server::parse_job(ex.req.capture("id"));
  if (!id) co_return problem_response(unknown_id("job", ex.req.capture("id")));
  query_check query(ex.req);
  listing_request r;
  r.query.session = *id;
  r.query.states = states_named(query.text("state"));
  r.query.function = query.text("function");
  r.query.worker = query.text("worker");
  r.query.text = lower(query.text("q"));
  r.query.order = order_named(query.text("sort"));
  r.query.descending = equal_ignoring_case(query.text("order"), "desc");
  r.limit = query.limit();
  co_return co_await answer_listing(context, query, 'c', std::move(r), closure_page_members);
}

// Returns the session that the query names. It may still contain a closure whose record was
// deleted.
std::optional<core::session_id> job_hint(query_check& query) {
  auto const text = query.text("job");
  if (text.empty()) return {};
  auto const id = server::parse_job(text);
  if (!id) query.fail("job", "expected a job id, got '" + std::string(text) + "'");
  return id;
}

template <class Work>
coro::task<response> closure_snapshot(web_context& context, exchange& ex, Work const& work) {
  return with_id(ex, "closure", server::parse_closure, [&](core::closure_id id) {
    query_check query(ex.req);
    auto const of = job_hint(query);
    if (query.failed()) return refused(query.failure());
    return respond_with(context, [id, of, work](engine_services& services) {
      auto& h = of ? services.pools.of(*of) : services.pools.of(id);
      // The log store also contains the session of a closure that has logged.
      auto const session = (of ? of : h.logs().job_of(id)).value_or(core::session_id{});
      return work(services, h, id, session);
    });
  });
}

coro::task<response> get_closure(web_context& context, exchange& ex) {
  return closure_snapshot(
      context, ex, [](engine_services&, server::hub& h, core::closure_id id, core::session_id of) {
        return closure_of(h, id, of);
      });
}

void place_members(member_list const& m, core::explanation const& why) {
  auto const& place = *why.place;
  m("remote_value", value_id{why.input});
  m.some("bytes", place.bytes);
  m("holders", place.holders,
    "workers that have the value in memory; for INPUT_MADE_AGAIN, workers that had the value");
  auto const again = m.when(why.why == core::closure_reason::input_made_again);
  again("made_again_by", place.made_by, "the closure that is recomputing the value");
  again("made_again_for_ms", place.recomputing_for, "duration of the recomputation so far");
}

struct explained {
  core::closure_id id{};
  std::string function, display_name;
  core::explanation why;
};

void members(member_list const& m, explained const& e) {
  m("id", e.id);
  m.some("function", e.function);
  m.some("display_name", e.display_name);
  m("state", e.why.state);
  m("explanation", text(e.why), "the explanation in words");
  m("reason", name(e.why.why), "reason for the state, such as NO_WORKER, BUSY or RETRY");
  auto told = e.why;
  if (!told.place) told.place.emplace();
  m.when(e.why.place.has_value())
      .object(
          "input", [&told](member_list const& of) { place_members(of, told); },
          "the value that the closure is waiting for, if known; for INPUT_MADE_AGAIN and "
          "INPUT_ELSEWHERE");
  m.some("cause", cause(e.why), "for a waiting closure, the explanation without its state and age");
}

muster::result<explained> explanation_of(engine_services& services, server::hub& h,
                                         core::closure_id id, core::session_id session) {
  auto why = history::explain(h.past(), h.state(), id, h.now(), session);
  if (!why) return why.error();
  services.blobs.explain_input(*why);
  explained e{id, {}, {}, std::move(*why)};
  if (auto c = history::closure(h.past(), h.state(), id, session)) {
    e.function = std::move(c->function);
    e.display_name = std::move(c->display_name);
  }
  return e;
}

coro::task<response> explain_closure(web_context& context, exchange& ex) {
  return closure_snapshot(context, ex, explanation_of);
}

coro::task<response> cancel_closure(web_context& context, exchange& ex) {
  return with_id(ex, "closure", server::parse_closure, [&context](core::closure_id id) {
    auto work = [id](server::hub& h, auto const& slot) {
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
  static constexpr std::string_view states[] = {"BLOCKED",    "QUEUED",     "RUNNING",
                                                "SUCCEEDED",  "FAILED",     "CANCELLED",
                                                "UNFINISHED", "ENDED_BADLY"};
  static constexpr std::string_view sorts[] = {"index", "started", "duration"};
  constexpr auto job_of = job_parameter(
      "the session of the closure; the session can still have a summary of the closure after its "
      "record was removed");
  to.push_back(
      get("/api/v1/jobs/{id}/closures", list_closures, "listClosures",
          "List the closures of a job or session, including summaries of ended closures")
          .with(
              {choice_parameter(
                   "state", states,
                   "only closures in this state; UNFINISHED and ENDED_BADLY match several states"),
               {"function", query_kind::text, "only closures with this function or display name"},
               {"worker", query_kind::text,
                "only closures whose newest attempt is running or ran on this task, such as "
                "worker:3"},
               {"q", query_kind::text,
                "only closures whose function, error or id contains this text; case-insensitive"},
               choice_parameter("sort", sorts, "sort key; default index"),
               listing_order_parameter,
               limit_parameter,
               listing_token_parameter("c")})
          .responds_with("ClosurePage", schema_of_members<closure_page_members>)
          .also(422, another_order));
  to.push_back(
      get("/api/v1/closures/{id}", get_closure, "getClosure", "Get a closure with its attempts")
          .with({job_of})
          .responds_with("ClosureView", schema_of<reported_closure>));
  to.push_back(get("/api/v1/closures/{id}/explain", explain_closure, "explainClosure",
                   "Explain why a closure is waiting, was moved to another worker, or failed")
                   .with({job_of})
                   .responds_with("Explanation", schema_of<explained>));
  to.push_back(
      post("/api/v1/closures/{id}/cancel", cancel_closure, "cancelClosure", "Cancel one closure")
          .responds_with("ClosureView"));
}

}  // namespace muster::web
