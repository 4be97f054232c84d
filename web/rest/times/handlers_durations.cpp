#include "server/core/queries/session_queries.hpp"
#include "server/history/jobs/job_times.hpp"
#include "server/hub/id_parsing.hpp"
#include "web/rest/answers.hpp"
#include "web/rest/cluster_access.hpp"

namespace muster::web {
namespace durations {

using history::run_times;

void sums(member_list const& m, run_times const& t) {
  m("executions", t.ran(), "executions that workers have finished, including failures and retries");
  m("failed", t.failed(), "executions that failed");
  m("busy_ms", t.busy(), "the sum of all durations");
  m("busy_us", t.busy().count(), "the sum of all durations in microseconds");
  m("p50_us", t.percentile(0.5).count(),
    "the median by nearest rank, interpolated between the shortest and the longest duration of its "
    "bucket; exact where a bucket has one or two durations. The other percentiles are computed "
    "the same way");
  m("p90_us", t.percentile(0.9).count());
  m("p99_us", t.percentile(0.99).count());
  m("max_us", t.longest().count());
}

void rows(member_list const& m, std::string_view name,
          std::vector<history::job_times_view::row> const& all) {
  m.list(
      name, all,
      [](member_list const& of, history::job_times_view::row const& r) {
        of("name", r.name,
           "name of the function or worker; empty for all functions or workers without a row of "
           "their own");
        sums(of, r.times);
      },
      "sorted by busy time, largest first");
}

void members(member_list const& m, history::job_times_view const& v) {
  sums(m, v.all);
  m.list(
      "buckets", v.all.cells(),
      [](member_list const& of, run_times::cell const& c) {
        bool const last = c.bucket >= history::histogram::buckets;
        of.when(!last)("up_to_us",
                       last ? std::int64_t{0} : history::histogram::limit(c.bucket).count(),
                       "the inclusive upper end; missing in the last bucket");
        of("executions", c.count);
        of("failed", c.failed);
        of("least_us", c.least.count(), "the shortest duration in the bucket");
        of("most_us", c.most.count(), "the longest duration in the bucket");
      },
      "the buckets that are not empty, shortest durations first; the first bucket ends at 4 us, "
      "followed by four buckets per octave");
  rows(m, "functions", v.functions);
  rows(m, "workers", v.workers);
  m.some("tables_gone", !v.detailed, "true if the tables were removed because the job is old");
}

struct view {
  history::job_times_view times;
};
void members(member_list const& m, view const& v) {
  members(m, v.times);
}

coro::task<response> get_durations(web_context& context, exchange& ex) {
  return with_id(ex, "job", server::parse_job, [&context](core::session_id id) {
    auto work = [id](server::hub& h) -> muster::result<view> {
      if (auto const job = h.state().sessions().find(id); !job) return job.error();
      auto const& past = h.past();
      return view{past.times().find(id, past.named()).value_or(history::job_times_view{})};
    };
    return respond_with(context, in_pool_of(id, std::move(work)));
  });
}

}  // namespace durations

void add_duration_routes(std::vector<route>& to) {
  to.push_back(get("/api/v1/jobs/{id}/durations", durations::get_durations, "getJobDurations",
                   "Get the execution durations of a job or session, by function and worker")
                   .responds_with("JobDurations", schema_of<durations::view>));
}

}  // namespace muster::web
