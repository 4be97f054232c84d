// Submitting a job: from its JSON to the engine and back with the ids of its closures.
#include "web/json/id_text.hpp"
#include "web/json/views_json.hpp"
#include "web/rest/handlers.hpp"
#include "web/rest/submission.hpp"

namespace muster::web {

namespace {

struct opened_job {
  core::job_view view;
  std::vector<core::closure_id> closures;
  bool created = false;
};

muster::result<opened_job> opened(server::hub& h, core::reply const& r) {
  if (!r.status.ok()) return r.status;
  auto const& body = std::get<core::session_reply>(r.body);
  auto view = h.state().job(body.session);
  if (!view) return view.error();
  opened_job o;
  o.view = std::move(*view);
  o.closures = body.closures;
  o.created = body.created;
  return o;
}

std::string opened_text(opened_job const& o) {
  std::string text;
  text.reserve(512 + o.closures.size() * 72);
  json_out out(text);
  out.begin_object();
  out.key("id").string(job_text(o.view.id));
  out.key("state").string(core::name(o.view.state));
  out.key("counts");
  write(out, o.view.counts);
  out.key("closures").begin_array();
  for (auto const id : o.closures) {
    out.begin_object();
    out.key("id").string(closure_text(id));
    out.key("remote_value").string(value_text(id));
    out.end_object();
  }
  out.end_array().end_object();
  text += '\n';
  return text;
}

}  // namespace

coro::task<response> submit_job(web_context& context, exchange& ex) {
  json_check check;
  json_ref const body(ex.req.body);
  auto const parsed = std::make_shared<submission>(read_submission(check, body));
  if (check.failed()) co_return problem_response(check.failure());

  using result = muster::result<opened_job>;
  auto work = [parsed](server::hub& h, answer_handle<result> const& slot) {
    auto const functions = h.learn(parsed->batch.names);
    if (!functions.status.ok()) return slot->send(functions.status);
    parsed->batch.number(functions.ids);
    core::open_session e;
    e.spec = std::move(parsed->spec);
    e.closures = std::move(parsed->batch.closures);
    h.ask(std::move(e), [&h, slot](core::reply const& r) { slot->send(opened(h, r)); });
  };
  auto asking =
      context.engine.call<result>(std::move(work), context.options.timeouts.engine, nullptr);
  auto const job = co_await std::move(asking);
  if (!job) co_return problem_response(job.error());
  // Found by its idempotency key: nothing was created this time.
  auto r = json_response(opened_text(*job), job->created ? 201 : 200);
  r.headers.emplace_back("Location", "/api/v1/jobs/" + job_text(job->view.id));
  co_return r;
}

}  // namespace muster::web
