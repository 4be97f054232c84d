// One list of jobs, sessions and programs. Each request reads short rows of all runs of a cluster,
// at most about 31,000, in steps of rows_per_step; views are built only for the rows of the page.
#include <algorithm>

#include "base/utf8.hpp"
#include "server/core/queries/session_queries.hpp"
#include "web/rest/answers.hpp"
#include "web/rest/cluster_access.hpp"
#include "web/rest/work/work_selection.hpp"

namespace muster::web {

namespace {

constexpr std::size_t rows_per_step = 500;
constexpr std::size_t error_bytes_max = 300;

struct work_run {
  run_kind kind{};
  std::string id, state;
  core::job_view job;  // of a job or session
  core::program_view program;
  std::int64_t duration_ms = 0;
  std::vector<std::string> labels;

  bool is_program() const { return kind == run_kind::program; }
};

struct work_counts {
  std::uint64_t total = 0, ended = 0, running = 0;
};

work_counts counts_of(work_run const& r) {
  auto const& p = r.program;
  auto const& c = r.job.counts;
  if (!r.is_program()) return {c.total(), c.succeeded + c.failed + c.cancelled, c.running};
  std::uint64_t wanted = p.ranks;
  if (p.attempt == 0)
    for (auto const& t : p.spec.tasks) wanted += t.min;
  return {wanted, std::uint64_t{p.started} - std::min(p.started, p.alive), p.alive};
}

std::string error_of(work_run const& r) {
  if (r.is_program())
    return r.program.cause ? shortened(r.program.cause->text, error_bytes_max) : "";
  if (!r.job.error) return {};
  auto const& e = *r.job.error;
  return shortened(e.type.empty() ? e.message : e.type + ": " + e.message, error_bytes_max);
}

void work_count_members(member_list const& m, work_run const& r) {
  auto const n = counts_of(r);
  m("total", n.total, "closures of a job or session, ranks of a program's last attempt");
  m("ended", n.ended);
  m("running", n.running);
  auto const of_closures = m.when(!r.is_program());
  of_closures("succeeded", r.job.counts.succeeded);
  of_closures("failed", r.job.counts.failed);
  of_closures("cancelled", r.job.counts.cancelled);
}

void holding_members(member_list const& m, core::job_view const& j) {
  m("attached", j.attached);
  m("detached", j.detached);
  m.when(j.lease_until != core::never)("kept_until_ms", j.lease_until);
}

void wanted_ranks_members(member_list const& m, core::program_view const& p) {
  std::uint64_t least = 0;
  for (auto const& t : p.spec.tasks) least += t.min;
  m("min", least);
  m("max", core::most_ranks(p.spec));
}

void members(member_list const& m, work_run const& r) {
  auto const& [j, p] = std::tie(r.job, r.program);
  bool const is_program = r.is_program();
  m.word("kind", muster::name(r.kind), {"job", "session", "program"});
  m("id", r.id);
  m("cluster", is_program ? p.cluster : j.cluster);
  m("name", is_program ? p.spec.name : j.name);
  m("state", r.state, "a state of a job, or of a program if kind is program");
  m.when(!is_program)
      .some("stopping", j.stopping, "true if the job is cancelled or failed, but unfinished");
  m.some("submitted_by", is_program ? p.spec.submitted_by : j.submitted_by,
         "id of the token with which the run was submitted");
  m("created_ms", is_program ? p.created : j.created);
  auto const finished = is_program ? p.finished : j.finished;
  m.when(finished != core::never && finished != core::time_point{})("ended_ms", finished);
  m("duration_ms", r.duration_ms, "from creation until the end, or until now");
  m.object("counts", [&r](member_list const& of) { work_count_members(of, r); });
  auto const n = counts_of(r);
  m("ended_share", n.total == 0 ? 0.0 : static_cast<double>(n.ended) / static_cast<double>(n.total),
    "ended / total, from 0 to 1");
  m.some("error", error_of(r), "first error, at most 300 bytes");
  m.some("labels", r.labels, "texts, numbers and booleans of the metadata, as key=value");
  auto const job = m.when(!is_program);
  job("values", j.values, "number of stored values");
  job("value_bytes", j.value_bytes);
  m.some("retry_of", j.retry_of);
  job.some("retryable", j.retryable && !j.streaming,
           "true if a closure failed or was cancelled, and the arguments are still stored");
  m.some("client", j.client, "the current or last client of a session");
  m.some("not_kept", j.not_kept,
         "closures that the client of a session released before a restart of the server");
  m.when(j.resumable).object("holding", [&j](member_list const& of) { holding_members(of, j); });
  auto const program = m.when(is_program);
  program.object("wanted_ranks", [&p](member_list const& of) { wanted_ranks_members(of, p); });
  program("attempt", p.attempt);
  program("restarts", p.restarts);
  program("max_restarts", p.spec.max_restarts);
  m.some("waits_for", p.waits_for, "why no rank of the program runs yet");
}

run_row row_of(core::job_view const& j) {
  run_row r;
  r.kind = j.streaming ? run_kind::session : run_kind::job;
  r.id = core::raw(j.id);
  r.state = core::name(j.state);
  r.ended = core::ended(j.state);
  r.name = j.name;
  r.user = j.submitted_by;
  if (j.metadata.size() <= run_row::metadata_bytes_max) r.metadata = j.metadata;
  r.failed = j.counts.failed;
  r.created = j.created;
  r.finished = j.finished;
  return r;
}

run_row row_of(core::program_view const& p) {
  run_row r;
  r.kind = run_kind::program;
  r.id = core::raw(p.id);
  r.state = core::name(p.state);
  r.ended = core::ended(p.state);
  r.name = p.spec.name;
  r.user = p.spec.submitted_by;
  if (p.spec.metadata.size() <= run_row::metadata_bytes_max) r.metadata = p.spec.metadata;
  r.failed = p.state == core::program_state::failed;
  r.created = p.created;
  r.finished = p.finished;
  return r;
}

std::optional<work_run> run_at(server::hub& h, work_place const& at) {
  work_run r;
  r.kind = at.kind;
  auto const now = h.now();
  core::time_point created, finished = core::never;
  if (at.kind == run_kind::program) {
    auto p = h.state().programs().find(core::program_id{at.id});
    if (!p) return {};
    r.program = std::move(*p);
    r.program.cluster = h.state().configuration().cluster;
    r.id = core::text(r.program.id);
    r.state = core::name(r.program.state);
    r.labels = labels_of(r.program.spec.metadata);
    created = r.program.created, finished = r.program.finished;
  } else {
    auto j = h.state().sessions().find(core::session_id{at.id});
    if (!j) return {};
    r.job = std::move(*j);
    r.id = core::text(r.job.id);
    r.state = core::name(r.job.state);
    r.labels = labels_of(r.job.metadata);
    created = r.job.created;
    if (r.job.finished != core::time_point{}) finished = r.job.finished;
  }
  r.duration_ms =
      core::to_unix_ms(finished == core::never ? now : finished) - core::to_unix_ms(created);
  return r;
}

using facet_counts = std::vector<std::pair<std::string, std::uint64_t>>;

// The most frequent values come first.
facet_counts most_frequent(work_facets::counts const& all) {
  facet_counts out(all.begin(), all.end());
  std::stable_sort(out.begin(), out.end(),
                   [](auto const& a, auto const& b) { return a.second > b.second; });
  if (out.size() > work_facets::values_max) out.resize(work_facets::values_max);
  return out;
}

struct work_page {
  std::vector<work_run> runs;
  std::string next;
  std::uint64_t matching = 0, of = 0;
  work_facets facets;
};

void facet_list(member_list const& m, std::string_view name, facet_counts const& all,
                std::string_view words) {
  m.list(
      name, all,
      [](member_list const& of, facet_counts::value_type const& one) {
        of("value", one.first);
        of("runs", one.second);
      },
      words);
}

void facet_members(member_list const& m, work_facets const& f) {
  facet_counts kinds;
  for (std::size_t i = 0; i < f.kinds.size(); ++i)
    kinds.emplace_back(muster::name(run_kind(i)), f.kinds[i]);
  facet_list(m, "kinds", kinds, "");
  facet_list(m, "states", most_frequent(f.states), "");
  facet_list(m, "users", most_frequent(f.users),
             "the 50 most frequent users; - means submitted without a token");
  facet_list(m, "labels", most_frequent(f.labels), "the 50 most frequent labels");
}

void work_page_members(member_list const& m, work_page const& p) {
  m.list("runs", p.runs, [](member_list const& of, work_run const& r) { members(of, r); });
  m.some("next_page_token", p.next);
  m("matching", p.matching, "runs that match the filters, on all pages");
  m("of", p.of, "all runs of the cluster");
  m.object(
      "facets", [&p](member_list const& of) { facet_members(of, p.facets); },
      "number of runs by value; each facet ignores the filter of the same facet");
}

template <class Id>
struct run_rows {
  std::vector<run_row> items;
  std::optional<Id> next;
};

template <class Id, class Read>
coro::task<std::optional<problem>> select(web_context& context, std::string cluster,
                                          work_selection& into, Read read) {
  for (std::optional<Id> before = Id{}; before;) {
    auto work = in_pool(cluster, [from = *before, read](server::hub& h) { return read(h, from); });
    auto part = co_await context.engine.on_engine(std::move(work));
    if (!part) co_return problem(to_problem(part.error()));
    for (auto const& row : part->items) into.add(row);
    before = part->next;
  }
  co_return std::nullopt;
}

run_rows<core::session_id> session_rows(server::hub& h, core::session_id before) {
  auto const part = h.state().sessions().list(before, rows_per_step);
  run_rows<core::session_id> out{{}, part.next};
  for (auto const& j : part.items) out.items.push_back(row_of(j));
  return out;
}

// Programs are read one at a time, because the commands of a single program can take 4 MiB.
run_rows<core::program_id> program_rows(server::hub& h, core::program_id before) {
  run_rows<core::program_id> out;
  auto last = before;
  while (out.items.size() < rows_per_step) {
    auto const one = h.state().programs().list(last, 1, {});
    if (one.empty()) return out;
    last = one.front().id;
    out.items.push_back(row_of(one.front()));
  }
  out.next = last;
  return out;
}

coro::task<response> list_work(web_context& context, exchange& ex) {
  query_check query(ex.req);
  auto asked = work_query::read(query);
  if (query.failed()) co_return problem_response(query.failure());
  if (asked.until_ms < asked.since_ms)
    co_return problem_response(impossible("until_ms", "must not be earlier than 'since_ms'"));
  std::string const cluster(query.text("cluster"));
  auto time = in_pool(cluster, [](server::hub& h) { return h.now(); });
  auto const now = co_await context.engine.on_engine(std::move(time));
  if (!now) co_return problem_response(now.error());
  work_selection selection(std::move(asked), *now);
  if (auto const p = co_await select<core::session_id>(context, cluster, selection, &session_rows))
    co_return problem_response(*p);
  if (auto const p = co_await select<core::program_id>(context, cluster, selection, &program_rows))
    co_return problem_response(*p);
  auto views = in_pool(cluster, [places = selection.page()](server::hub& h) {
    std::vector<work_run> runs;
    for (auto const& at : places)
      if (auto r = run_at(h, at)) runs.push_back(std::move(*r));
    return runs;
  });
  auto runs = co_await context.engine.on_engine(std::move(views));
  if (!runs) co_return problem_response(runs.error());
  work_page page;
  page.runs = std::move(*runs);
  page.next = selection.next_token();
  page.matching = selection.matching();
  page.of = selection.of();
  page.facets = selection.facets();
  co_return object_response(work_page_members, page);
}

constexpr auto work_kinds = all_names<run_kind>();
constexpr std::string_view work_states[] = {"QUEUED",     "PENDING",   "STARTING",  "RUNNING",
                                            "RESTARTING", "STOPPING",  "SUCCEEDED", "FAILED",
                                            "CANCELLED",  "UNFINISHED"};

template <class State>
constexpr bool all_states_listed() {
  for (auto const name : all_names<State>())
    if (std::find(std::begin(work_states), std::end(work_states), name) == std::end(work_states))
      return false;
  return true;
}
static_assert(all_states_listed<core::job_state>() && all_states_listed<core::program_state>());

constexpr auto work_orders = all_names<work_order>();
constexpr std::string_view work_directions[] = {"asc", "desc"};

}  // namespace

void add_work_routes(std::vector<route>& to) {
  to.push_back(
      get("/api/v1/work", list_work, "listWork",
          "List jobs, sessions and programs together, with the number of runs by facet")
          .with({choices_parameter("kind", work_kinds, "only runs of these kinds; comma-separated"),
                 choices_parameter("state", work_states,
                                   "only runs in these states; comma-separated; UNFINISHED means "
                                   "all states before the end"),
                 {"user", query_kind::text,
                  "only runs submitted with these token ids; comma-separated, at most 100; - means "
                  "without a token"},
                 {"label", query_kind::text,
                  "only runs with these labels of their metadata, such as team=ml or team; "
                  "comma-separated, at most 100. Metadata above 4 KiB is not searched"},
                 {"since_ms", query_kind::number, "only runs created at or after this time"},
                 {"until_ms", query_kind::number, "only runs created at or before this time"},
                 {"q", query_kind::text,
                  "only runs whose name or id contains this text; case-insensitive"},
                 choice_parameter("sort", work_orders, "order; default created"),
                 choice_parameter("order", work_directions, "direction; default desc"),
                 cluster_parameter,
                 limit_parameter,
                 page_token_parameter("w", query_kind::page_text)})
          .responds_with("WorkPage", schema_of_members<work_page_members>)
          .also(404, "No such cluster")
          .also(422, "until_ms is before since_ms"));
}

}  // namespace muster::web
