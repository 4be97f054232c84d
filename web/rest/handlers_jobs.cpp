#include "base/text.hpp"
#include "server/core/queries/session_queries.hpp"
#include "server/history/jobs/job_pages.hpp"
#include "server/hub/id_parsing.hpp"
#include "web/rest/answers.hpp"
#include "web/rest/cluster_access.hpp"

namespace muster::web {

namespace {

constexpr std::string_view unfinished = "UNFINISHED";
constexpr std::string_view job_states[] = {"QUEUED", "RUNNING",   "SUCCEEDED",
                                           "FAILED", "CANCELLED", unfinished};

history::job_filter filter_of(query_check& query) {
  using enum core::job_state;
  history::job_filter f;
  for (auto const s : {queued, running, succeeded, failed, cancelled})
    if (equal_ignoring_case(query.text("state"), core::name(s))) f.state = s;
  f.unfinished = equal_ignoring_case(query.text("state"), unfinished);
  if (!query.text("streaming").empty()) f.streaming = query.flag("streaming");
  f.text = query.text("q");
  return f;
}

struct listed_jobs {
  core::page<core::job_view, core::session_id> rows;
  history::state_counts jobs{}, sessions{};
};

void state_members(member_list const& m, history::state_counts const& n) {
  using enum core::job_state;
  auto const of = [&n](core::job_state s) { return n[static_cast<std::size_t>(s)]; };
  m("queued", of(queued));
  m("running", of(running));
  m("succeeded", of(succeeded));
  m("failed", of(failed));
  m("cancelled", of(cancelled));
}

void job_count_members(member_list const& m, listed_jobs const& l) {
  m.object("jobs", [&l](member_list const& of) { state_members(of, l.jobs); });
  m.object("sessions", [&l](member_list const& of) { state_members(of, l.sessions); });
}

schema::json jobs_page_schema() {
  using namespace schema;
  auto const counts =
      described(schema_of_members<job_count_members>(),
                "all jobs and sessions of the cluster by state, ignoring the filter");
  return object(
      {{"jobs", array(ref("JobView"))}, {"counts", counts}, {"next_page_token", text(), optional}});
}

response jobs_page(listed_jobs const& l) {
  return json_response(json_line([&l](json_out& out) {
    auto const object = out.object();
    out.key("jobs").begin_array();
    for (auto const& job : l.rows.items) write(out, job);
    out.end_array();
    {
      auto const counts = out.key("counts").object();
      job_count_members(member_list(out), l);
    }
    if (l.rows.next) out.key("next_page_token").string(next_token('j', l.rows.next));
  }));
}

// One engine step reads a limited number of jobs.
coro::task<response> list_jobs(web_context& context, exchange& ex) {
  query_check query(ex.req);
  auto const limit = query.limit();
  auto const filter = filter_of(query);
  std::string const cluster(query.text("cluster"));
  listed_jobs found;
  found.rows.next = core::session_id{query.page_token('j')};
  do {
    auto const left = limit - found.rows.items.size();
    auto work = in_pool(cluster, [before = *found.rows.next, left, filter](server::hub& h) {
      auto const& lists = h.past().jobs();
      return listed_jobs{history::jobs(h.past(), h.state(), before, left, filter),
                         lists.counts(false), lists.counts(true)};
    });
    auto part = co_await context.engine.on_engine(std::move(work));
    if (!part) co_return problem_response(part.error());
    found.rows.next = part->rows.next;
    found.jobs = part->jobs;
    found.sessions = part->sessions;
    for (auto& job : part->rows.items) found.rows.items.push_back(std::move(job));
  } while (found.rows.next && found.rows.items.size() < limit);
  co_return jobs_page(found);
}

coro::task<response> get_job(web_context& context, exchange& ex) {
  return with_id(ex, "job", server::parse_job, [&context](core::session_id id) {
    return respond_with(
        context, in_pool_of(id, [id](server::hub& h) { return h.state().sessions().find(id); }));
  });
}

template <class Event>
coro::task<response> command(web_context& context, exchange& ex) {
  return with_id(ex, "job", server::parse_job, [&context](core::session_id id) {
    auto work = [id](server::hub& h, auto const& slot) {
      Event e;
      e.session = id;
      h.ask(e, [&h, slot, id](core::reply const& r) {
        r.status.ok() ? slot->send(h.state().sessions().find(id)) : slot->send(r.status);
      });
    };
    return ask<core::job_view>(context, in_pool_of(id, std::move(work)));
  });
}

void joined_members(member_list const& m, core::job_view const& j) {
  m("id", j.id);
  m("done", core::ended(j.state));
  m("state", j.state);
  m("counts", j.counts);
  m.some("error", j.error);
}

coro::task<response> join_job(web_context& context, exchange& ex) {
  return with_id(ex, "job", server::parse_job, [&](core::session_id id) {
    query_check query(ex.req);
    auto const timeout = query.timeout();
    auto work = [id, timeout](server::hub& h, auto const& slot) {
      core::join_session e;
      e.session = id;
      e.deadline = h.now() + timeout;
      auto const call = h.ask(e, [&h, slot, id](core::reply const& r) {
        bool const told = r.status.ok() || r.status.code == muster::code::deadline_exceeded;
        told ? slot->send(h.state().sessions().find(id)) : slot->send(r.status);
      });
      slot->parked_as(call);
    };
    return wait<core::job_view>(context, ex, timeout, in_pool_of(id, std::move(work)),
                                as_members<joined_members>);
  });
}

coro::task<response> delete_job(web_context& context, exchange& ex) {
  return with_id(ex, "job", server::parse_job, [&context](core::session_id id) {
    auto work = [id](server::hub& h, auto const& slot) {
      core::delete_session e;
      e.session = id;
      h.ask(e, [slot](core::reply const& r) { slot->send(r.status); });
    };
    return order(context, in_pool_of(id, std::move(work)));
  });
}

}  // namespace

problem unknown_id(std::string_view what, std::string_view text) {
  return make_problem(404, muster::code::not_found,
                      "there is no " + std::string(what) + " '" + std::string(text) + "'");
}

void add_job_routes(std::vector<route>& to) {
  to.push_back(
      get("/api/v1/jobs", list_jobs, "listJobs", "List jobs, newest first")
          .with({choice_parameter("state", job_states,
                                  "only jobs in this state; UNFINISHED is QUEUED or RUNNING"),
                 {"streaming", query_kind::flag,
                  "true: only gRPC sessions; false: only jobs that are not sessions"},
                 {"q", query_kind::text,
                  "only jobs whose name or id contains this text; case-insensitive"},
                 cluster_parameter,
                 limit_parameter,
                 page_token_parameter("j")})
          .responds_with("JobPage", jobs_page_schema)
          .also(404, "No such cluster"));
  to.push_back(get("/api/v1/jobs/{id}", get_job, "getJob", "Get a job")
                   .responds_with("JobView", schema_of<core::job_view>));
  to.push_back(
      remove("/api/v1/jobs/{id}", delete_job, "deleteJob", "Delete a finished job and its values")
          .also(409, "The job is not finished"));
  to.push_back(post("/api/v1/jobs/{id}/seal", command<core::seal_session>, "sealJob",
                    "Seal a job: accept no more closures")
                   .responds_with("JobView"));
  to.push_back(post("/api/v1/jobs/{id}/cancel", command<core::cancel_session>, "cancelJob",
                    "Cancel the unfinished closures of a job")
                   .responds_with("JobView"));
  to.push_back(get("/api/v1/jobs/{id}/join", join_job, "joinJob", "Wait until a job ends")
                   .with({timeout_parameter})
                   .responds_with("Joined", schema_of_members<joined_members>)
                   .also(429, "The server has reached its limit on waiting calls"));
  to.push_back(get("/api/v1/jobs/{id}/results", stream_results, "streamResults",
                   "Get results in schedule order, one JSON object per line")
                   .with({{"from", query_kind::number, "index of the first closure; default 0", 0,
                           UINT32_MAX},
                          {"wait", query_kind::flag,
                           "true: wait, and send each line when its closure has ended"}})
                   .as({"application/x-ndjson"})
                   .responds_with("ResultLine", result_line_schema));
  to.push_back(get("/api/v1/jobs/{id}/results/page", list_results, "listResults",
                   "Get a page of results in schedule order, as JSON, of at most about 8 MiB")
                   .with({limit_parameter, page_token_parameter("r")})
                   .responds_with("ResultPage", result_page_schema));
}

}  // namespace muster::web
