#include "web/rest/submit.hpp"

#include <algorithm>

#include "server/core/queries/session_queries.hpp"
#include "server/hub/id_parsing.hpp"
#include "web/rest/answers.hpp"
#include "web/rest/caller_check.hpp"
#include "web/rest/idempotency_key.hpp"

namespace muster::web {

namespace {

using schedule_result = muster::result<scheduled>;

schedule_result result_of(server::hub& h, core::reply const& r) {
  if (!r.status.ok()) return r.status;
  auto const& body = std::get<core::session_reply>(r.body);
  auto job = h.state().sessions().find(body.session);
  if (!job) return job.error();
  return scheduled{std::move(*job), body.closures, body.created};
}

struct opening {
  core::session_spec spec;

  core::open_session event(server::submission& s) { return s.opening(std::move(spec)); }
  /// A submission whose idempotency key is already known adds nothing.
  added_entries added(server::hub& h, std::size_t closures) const {
    if (h.state().sessions().has_key(spec)) return {};
    return {1, closures};
  }
};

struct appending {
  core::session_id job;
  std::optional<std::uint64_t> first;

  core::schedule event(server::submission& s) const {
    auto& e = s.appending(job);
    e.first = first;
    return std::move(e);
  }
  /// Closures at positions that the job already has add nothing.
  added_entries added(server::hub& h, std::size_t closures) const {
    auto const view = h.state().sessions().find(job);
    auto const known = view ? view->counts.total() : 0;
    if (!first || *first >= known) return {0, closures};
    return {0,
            closures - static_cast<std::size_t>(std::min<std::uint64_t>(known - *first, closures))};
  }
};

template <class Event>
coro::task<schedule_result> submit_to_hub(web_context& context, core::caller who, target at,
                                          server::submission closures, Event event) {
  struct request {
    server::submission closures;
    Event event;
  };
  auto const shared = std::make_shared<request>(request{std::move(closures), std::move(event)});
  auto added = [shared](server::hub& h) {
    return shared->event.added(h, shared->closures.closures().size());
  };
  auto work = [shared](server::hub& h, answer_handle<schedule_result> const& slot) {
    if (auto bad = shared->closures.learn(h); !bad.ok()) return slot->send(std::move(bad));
    h.ask(shared->event.event(shared->closures),
          [&h, slot](core::reply const& r) { slot->send(result_of(h, r)); });
  };
  return context.engine.call<schedule_result>(
      with_room_for(std::move(who), std::move(at), std::move(added), std::move(work)));
}

void job_members(member_list const& m, core::job_view const& job) {
  m("id", job.id);
  m("state", job.state);
  m("counts", job.counts);
}

void id_members(member_list const& m, core::closure_id id) {
  m("id", id);
  m("remote_value", value_id{id});
}

response submitted(scheduled const& now) {
  std::string text;
  text.reserve(512 + now.closures.size() * 72);
  json_out out(text);
  write(out, now);
  text += '\n';
  // Status 200 means that a job with this idempotency key already existed.
  auto r = json_response(std::move(text), now.created ? 201 : 200);
  r.headers.emplace_back("Location", "/api/v1/jobs/" + core::text(now.job.id));
  return r;
}

}  // namespace

problem submission_problem(muster::status const& s) {
  auto p = to_problem(s);
  if (!s.field.empty() && (p.status == 400 || p.status == 409)) p.status = 422;
  return p;
}

void members(member_list const& m, scheduled const& now) {
  job_members(m, now.job);
  m.list("closures", now.closures, id_members);
}

void appended_members(member_list const& m, scheduled const& now, std::uint64_t accepted,
                      bool with_ids) {
  job_members(m, now.job);
  m("accepted", accepted);
  m.when(with_ids).list("closures", now.closures, id_members,
                        "ids of the closures of a JSON array; not present for NDJSON");
}

coro::task<schedule_result> schedule(web_context& context, core::caller who, core::session_id job,
                                     server::submission closures,
                                     std::optional<std::uint64_t> first) {
  return submit_to_hub(context, std::move(who), job, std::move(closures), appending{job, first});
}

namespace {

coro::task<response> submit_job(web_context& context, exchange& ex) {
  json_check check;
  json_ref const body(ex.req.body);
  auto request = read_job(check, body);
  if (check.failed()) co_return problem_response(check.failure());
  if (auto const p = check_cluster(context, ex.req, request.cluster))
    co_return problem_response(*p);
  if (auto const p = check_functions(ex.req, request.closures)) co_return problem_response(*p);
  if (auto const p = take_idempotency_key(ex.req, request.spec.idempotency_key))
    co_return problem_response(*p);
  if (!request.spec.idempotency_key.empty()) request.spec.request_digest = request_digest(body);
  if (ex.req.who) request.spec.submitted_by = ex.req.who->id;
  opening event{std::move(request.spec)};
  target at = std::move(request.cluster);
  auto const now = co_await submit_to_hub(context, ex.req.who, std::move(at),
                                          std::move(request.closures), std::move(event));
  co_return now ? submitted(*now) : problem_response(submission_problem(now.error()));
}

coro::task<response> retry_job(web_context& context, exchange& ex) {
  auto const text = ex.req.capture("id");
  auto const id = server::parse_job(text);
  if (!id) co_return problem_response(unknown_id("job", text));
  core::retry_job event{{}, *id, {}};
  if (!ex.req.body.empty()) {
    json_check check;
    json_ref const body(ex.req.body);
    event.name = read_retry(check, body);
    if (check.failed()) co_return problem_response(check.failure());
  }
  if (ex.req.who) event.submitted_by = ex.req.who->id;
  auto work = [event, who = ex.req.who](engine_services& services,
                                        answer_handle<schedule_result> const& slot) {
    auto& h = services.pools.of(event.session);
    auto const old = h.state().sessions().find(event.session);
    auto const again = old ? old->counts.failed + old->counts.cancelled : 0;
    if (auto full = room_for(services, who, {1, again}); !full.ok())
      return slot->send(std::move(full));
    h.ask(core::retry_job(event),
          [&h, slot](core::reply const& r) { slot->send(result_of(h, r)); });
  };
  auto const now = co_await context.engine.call<schedule_result>(std::move(work));
  co_return now ? submitted(*now) : problem_response(now.error());
}

}  // namespace

void add_submission_routes(std::vector<route>& to) {
  constexpr std::string_view full = "The server, or the job's queue, is full";
  constexpr std::string_view no_room =
      "The job is durable, and the disk of the data directory is full; `detail` contains its path. "
      "Jobs with `durable: false` are accepted";
  constexpr std::string_view impossible =
      "The request is well-formed but cannot be carried out; `field` identifies the cause";
  constexpr std::string_view reused =
      "The request is well-formed but cannot be carried out; `field` identifies the cause. With "
      "`idempotency_key`: the key was used with another body";
  to.push_back(
      post("/api/v1/jobs", submit_job, "submitJob", "Submit closures as a job")
          .takes(body_kind::json, "Submission",
                 R"({"name":"nightly","closures":[{"function":"muster.echo","args":[42]}]})")
          .takes_idempotency_key()
          .responds_with("Submitted", schema_of<scheduled>, 201)
          .also(200, "The job that was submitted earlier with this idempotency key", "Submitted")
          .also(404, "No such cluster, RemoteValue or per-worker value")
          .also(422, reused)
          .also(429, full)
          .also(507, no_room));
  to.push_back(
      post("/api/v1/jobs/{id}/closures", append_closures, "appendClosures",
           "Append closures to an open job")
          .with({{.name = "first",
                  .kind = query_kind::number,
                  .meaning =
                      "position of the first closure in the job. Closures that the job already "
                      "contains are skipped, so that an interrupted append can be repeated"}})
          .takes(body_kind::json_or_ndjson, "Closure", R"({"function":"muster.echo","args":[42]})")
          .responds_with("Appended", schema_of_members<appended_members>)
          .also(409, "The job is sealed or has ended")
          .also(422, impossible)
          .also(429, full)
          .also(507, no_room));
  to.push_back(post("/api/v1/jobs/{id}/retry", retry_job, "retryJob",
                    "Run the failed and cancelled closures of a job again, as a new job")
                   .takes(body_kind::optional_json, "Retry", R"({"name":"nightly-again"})")
                   .responds_with("Submitted", {}, 201)
                   .also(409,
                         "The job has not ended, none of its closures failed, it is a session, or "
                         "its arguments or an input value are no longer stored")
                   .also(422, impossible)
                   .also(429, full)
                   .also(507, no_room));
}

}  // namespace muster::web
