// PerWorkerValues: made, shown, released.
#include "web/http/query.hpp"
#include "web/json/arguments.hpp"
#include "web/json/id_text.hpp"
#include "web/json/json_check.hpp"
#include "web/json/views_json.hpp"
#include "web/rest/handlers.hpp"

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
  if (!check.is(body, json_type::object)) return r;
  std::optional<json_ref> positional, named;
  for (json_walk m(body); m.next() && !check.failed();) {
    auto const key = m.key();
    if (key == "function")
      r.function = check.text(m.value(), name_bytes_max);
    else if (key == "name")
      r.name = check.text(m.value(), name_bytes_max);
    else if (key == "args")
      positional = m.value();
    else if (key == "kwargs")
      named = m.value();
    else
      check.unknown(m.value());
  }
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

std::string text_of(core::per_worker_view const& v) {
  std::string text;
  json_out out(text);
  write(out, v);
  text += '\n';
  return text;
}

coro::task<response> create_value(web_context& context, exchange& ex) {
  json_check check;
  json_ref const body(ex.req.body);
  auto const parsed = std::make_shared<per_worker_request>(read_request(check, body));
  if (check.failed()) co_return problem_response(check.failure());

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
  auto asking =
      context.engine.call<result>(std::move(work), context.options.timeouts.engine, nullptr);
  auto const v = co_await std::move(asking);
  if (!v) co_return problem_response(v.error());
  auto r = json_response(text_of(*v), 201);
  r.headers.emplace_back("Location", "/api/v1/per_worker_values/" + per_worker_text(v->id));
  co_return r;
}

coro::task<response> get_value(web_context& context, exchange& ex) {
  auto const id = parse_per_worker(ex.req.capture("id"));
  if (!id) co_return problem_response(unknown_id("per-worker value", ex.req.capture("id")));
  auto work = [id = *id](server::hub& h) { return h.state().per_worker(id); };
  auto asking = context.engine.on_engine(std::move(work));
  auto const v = co_await std::move(asking);
  if (!v) co_return problem_response(v.error());
  co_return json_response(text_of(*v));
}

coro::task<response> list_values(web_context& context, exchange& ex) {
  query_check query(ex.req);
  auto const limit = query.limit();
  auto const after = core::per_worker_id{query.page_token('p')};
  if (query.failed()) co_return problem_response(query.failure());
  auto work = [after, limit](server::hub& h) { return h.state().per_worker_values(after, limit); };
  auto asking = context.engine.on_engine(std::move(work));
  auto const page = co_await std::move(asking);
  if (!page) co_return problem_response(page.error());
  std::string text;
  json_out out(text);
  out.begin_object().key("per_worker_values").begin_array();
  for (auto const& v : page->items) write(out, v);
  out.end_array();
  if (page->next) out.key("next_page_token").string(page_token('p', core::raw(*page->next)));
  out.end_object();
  text += '\n';
  co_return json_response(std::move(text));
}

coro::task<response> delete_value(web_context& context, exchange& ex) {
  auto const id = parse_per_worker(ex.req.capture("id"));
  if (!id) co_return problem_response(unknown_id("per-worker value", ex.req.capture("id")));
  auto work = [id = *id](server::hub& h, answer_handle<muster::status> const& slot) {
    h.ask(core::delete_per_worker{{}, id}, [slot](core::reply const& r) { slot->send(r.status); });
  };
  auto asking = context.engine.call<muster::status>(std::move(work),
                                                    context.options.timeouts.engine, nullptr);
  auto const done = co_await std::move(asking);
  if (!done.ok()) co_return problem_response(done);
  response r;
  r.status = 204;
  r.content_type.clear();
  co_return r;
}

}  // namespace

void add_per_worker_routes(std::vector<route>& to) {
  to.push_back({"POST",
                "/api/v1/per_worker_values",
                create_value,
                "createPerWorkerValue",
                "Let every worker that has a function build a value and keep it",
                201,
                "application/json",
                body_kind::json,
                {},
                "PerWorkerRequest"});
  to.push_back({"GET",
                "/api/v1/per_worker_values",
                list_values,
                "listPerWorkerValues",
                "Per-worker values, in order of creation",
                200,
                "application/json",
                body_kind::none,
                {limit_parameter, page_token_parameter}});
  to.push_back({"GET", "/api/v1/per_worker_values/{id}", get_value, "getPerWorkerValue",
                "One of them, with its status on each worker"});
  to.push_back({"DELETE", "/api/v1/per_worker_values/{id}", delete_value, "deletePerWorkerValue",
                "Release it; workers drop it when no closure needs it any more", 204, ""});
}

}  // namespace muster::web
