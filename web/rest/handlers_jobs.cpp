// Jobs: list, look, seal, cancel, wait, forget.
#include "web/http/query.hpp"
#include "web/json/id_text.hpp"
#include "web/json/views_json.hpp"
#include "web/rest/handlers.hpp"

namespace muster::web {

namespace {

coro::task<response> list_jobs(web_context& context, exchange& ex) {
  query_check query(ex.req);
  auto const limit = query.limit();
  auto const before = core::session_id{query.page_token('j')};
  if (query.failed()) co_return problem_response(query.failure());
  auto work = [before, limit](server::hub& h) { return h.state().jobs(before, limit); };
  auto asking = context.engine.on_engine(std::move(work));
  auto const page = co_await std::move(asking);
  if (!page) co_return problem_response(page.error());
  std::string text;
  json_out out(text);
  out.begin_object().key("jobs").begin_array();
  for (auto const& j : page->items) write(out, j);
  out.end_array();
  if (page->next) out.key("next_page_token").string(page_token('j', core::raw(*page->next)));
  out.end_object();
  text += '\n';
  co_return json_response(std::move(text));
}

coro::task<response> get_job(web_context& context, exchange& ex) {
  auto const id = parse_job(ex.req.capture("id"));
  if (!id) co_return problem_response(unknown_id("job", ex.req.capture("id")));
  auto work = [id = *id](server::hub& h) { return h.state().job(id); };
  auto asking = context.engine.on_engine(std::move(work));
  auto const job = co_await std::move(asking);
  if (!job) co_return problem_response(job.error());
  co_return json_response(to_text(*job));
}

// Performs an event of a job and answers with what the job is then.
template <class Event>
coro::task<response> command(web_context& context, exchange& ex) {
  auto const id = parse_job(ex.req.capture("id"));
  if (!id) co_return problem_response(unknown_id("job", ex.req.capture("id")));
  using result = muster::result<core::job_view>;
  auto work = [id = *id](server::hub& h, answer_handle<result> const& slot) {
    Event e;
    e.session = id;
    h.ask(e, [&h, slot, id](core::reply const& r) {
      r.status.ok() ? slot->send(h.state().job(id)) : slot->send(r.status);
    });
  };
  auto asking =
      context.engine.call<result>(std::move(work), context.options.timeouts.engine, nullptr);
  auto const job = co_await std::move(asking);
  if (!job) co_return problem_response(job.error());
  co_return json_response(to_text(*job));
}

std::string joined_text(core::job_view const& j) {
  std::string text;
  json_out out(text);
  out.begin_object();
  out.key("id").string(job_text(j.id));
  out.key("done").boolean(j.state != core::job_state::running);
  out.key("state").string(core::name(j.state));
  out.key("counts");
  write(out, j.counts);
  if (j.error) {
    out.key("error");
    write(out, *j.error);
  }
  out.end_object();
  text += '\n';
  return text;
}

coro::task<response> join_job(web_context& context, exchange& ex) {
  auto const id = parse_job(ex.req.capture("id"));
  if (!id) co_return problem_response(unknown_id("job", ex.req.capture("id")));
  query_check query(ex.req);
  auto const timeout = query.timeout();
  if (query.failed()) co_return problem_response(query.failure());

  using result = muster::result<core::job_view>;
  auto work = [id = *id, timeout](server::hub& h, answer_handle<result> const& slot) {
    core::join_session e;
    e.session = id;
    e.deadline = h.now() + timeout;
    auto const call = h.ask(e, [&h, slot, id](core::reply const& r) {
      bool const told = r.status.ok() || r.status.code == muster::code::deadline_exceeded;
      told ? slot->send(h.state().job(id)) : slot->send(r.status);
    });
    slot->parked_as(call);
  };
  auto asking = context.engine.call<result>(std::move(work),
                                            timeout + context.options.timeouts.engine, &ex.peer());
  auto const job = co_await std::move(asking);
  if (!job) co_return problem_response(job.error());
  co_return json_response(joined_text(*job));
}

coro::task<response> delete_job(web_context& context, exchange& ex) {
  auto const id = parse_job(ex.req.capture("id"));
  if (!id) co_return problem_response(unknown_id("job", ex.req.capture("id")));
  auto work = [id = *id](server::hub& h, answer_handle<muster::status> const& slot) {
    core::delete_session e;
    e.session = id;
    h.ask(e, [slot](core::reply const& r) { slot->send(r.status); });
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

problem unknown_id(std::string_view what, std::string_view text) {
  return make_problem(404, muster::code::not_found,
                      "there is no " + std::string(what) + " '" + std::string(text) + "'");
}

void add_job_routes(std::vector<route>& to) {
  std::vector<query_parameter> const paging = {
      {"limit", query_kind::number, "entries of the page, 100 unless told, 1000 at most"},
      {"page_token", query_kind::text, "next_page_token of the page before"}};
  to.push_back({"POST", "/api/v1/jobs", submit_job, "submitJob", "Submit closures as a job", 201,
                "application/json", body_kind::json});
  to.push_back({"GET", "/api/v1/jobs", list_jobs, "listJobs", "Jobs, newest first", 200,
                "application/json", body_kind::none, paging});
  to.push_back({"GET", "/api/v1/jobs/{id}", get_job, "getJob", "One job"});
  to.push_back({"DELETE", "/api/v1/jobs/{id}", delete_job, "deleteJob",
                "Forget a finished job and its values", 204, ""});
  to.push_back({"POST", "/api/v1/jobs/{id}/closures", append_closures, "appendClosures",
                "Append to an open job", 200, "application/json", body_kind::json_or_ndjson});
  to.push_back({"POST", "/api/v1/jobs/{id}/seal", command<core::seal_session>, "sealJob",
                "No more closures"});
  to.push_back({"POST", "/api/v1/jobs/{id}/cancel", command<core::cancel_session>, "cancelJob",
                "Cancel what is left of a job"});
  to.push_back(
      {"GET",
       "/api/v1/jobs/{id}/join",
       join_job,
       "joinJob",
       "Wait for a job's end",
       200,
       "application/json",
       body_kind::none,
       {{"timeout", query_kind::duration, "how long to wait, 30s unless told, 10m at most"}}});
  to.push_back(
      {"GET",
       "/api/v1/jobs/{id}/results",
       stream_results,
       "streamResults",
       "Results in schedule order, one JSON object a line",
       200,
       "application/x-ndjson",
       body_kind::none,
       {{"from", query_kind::number, "index of the first closure; 0 unless told"},
        {"wait", query_kind::flag, "follow: each line comes when its closure has ended"}}});
}

}  // namespace muster::web
