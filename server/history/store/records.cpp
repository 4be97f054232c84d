// Tables that describe the records; see server/core/api/described.hpp. Field numbers match
// journal/v1/history.proto.
#include "server/history/store/records.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "server/core/coordination/api/coordination_fields.hpp"
#include "server/journal/described_entry.hpp"

namespace muster::core {

constexpr auto fields_of(std::type_identity<closure_counts>) {
  using t = closure_counts;
  return fields(field(11, "succeeded", &t::succeeded), field(12, "failed", &t::failed),
                field(13, "cancelled", &t::cancelled));
}

constexpr auto fields_of(std::type_identity<job_view>) {
  using t = job_view;
  return fields(
      field(1, "id", &t::id).as_fixed(), field(2, "cluster", &t::cluster).as_bytes(),
      field(3, "name", &t::name).as_bytes(), field(4, "state", &t::state),
      field(5, "created", &t::created), field(6, "finished", &t::finished),
      field(7, "streaming", &t::streaming), field(8, "submitted_by", &t::submitted_by).as_bytes(),
      field(9, "client", &t::client).as_bytes(), field(10, "metadata", &t::metadata).as_bytes(),
      flat(&t::counts), field(14, "retried", &t::retried), field(15, "requeued", &t::requeued));
}

namespace coordination {
constexpr auto fields_of(std::type_identity<generation_view>) {
  using t = generation_view;
  return fields(field(2, "number", &t::number), field(3, "incarnation", &t::incarnation).as_fixed(),
                field(4, "state", &t::state), field(5, "started", &t::started),
                field(6, "ended", &t::ended), field(13, "barriers", &t::barriers_remembered),
                field(14, "keys", &t::keys), field(15, "key_bytes", &t::key_bytes));
}
}  // namespace coordination
}  // namespace muster::core

namespace muster::doctor {
constexpr auto fields_of(std::type_identity<step_segment>) {
  using t = step_segment;
  using core::field;
  return core::fields(field(1, "program", &t::program).as_fixed(), field(2, "attempt", &t::attempt),
                      field(3, "made", &t::made), field(4, "first", &t::first),
                      field(5, "last", &t::last), field(6, "spans", &t::spans),
                      field(7, "packed", &t::bytes).as_bytes());
}
}  // namespace muster::doctor

namespace muster::history {
constexpr auto fields_of(std::type_identity<names::function>) {
  using t = names::function;
  using core::field;
  return core::fields(field(1, "name", &t::name).as_bytes(),
                      field(2, "served", &t::served).as_bytes(),
                      field(3, "hash", &t::hash).as_bytes(), field(4, "callable", &t::callable));
}
}  // namespace muster::history

namespace muster::server {

using core::field;
using core::fields;
using history::machine_sample;

constexpr auto fields_of(std::type_identity<log_event>) {
  using t = log_event;
  return fields(field(2, "severity", &t::severity), field(3, "kind", &t::kind).as_bytes(),
                field(4, "cluster", &t::cluster).as_bytes(),
                field(5, "subject", &t::subject).as_bytes(), field(6, "text", &t::text).as_bytes());
}

constexpr auto fields_of(std::type_identity<event>) {
  return fields(field(1, "at", &event::at), core::flat(&event::what));
}

constexpr auto fields_of(std::type_identity<log_line>) {
  using t = log_line;
  return fields(field(2, "closure", &t::closure).as_fixed(), field(3, "index", &t::index),
                field(4, "attempt", &t::attempt), field(5, "level", &t::level),
                field(6, "at", &t::at), field(8, "text", &t::text).as_bytes());
}

namespace {

namespace entry = journal::entry;

struct point_record {
  std::uint32_t series = 0;
  core::time_point at{};
  std::vector<float> figures{};
};
constexpr auto fields_of(std::type_identity<point_record>) {
  using t = point_record;
  return fields(field(1, "series", &t::series), field(2, "at", &t::at),
                field(3, "figure", &t::figures));
}

struct machine_row {
  std::string cluster{}, task{}, host{};
  std::uint32_t at = 0;
  std::vector<float> figures{};
};
constexpr auto fields_of(std::type_identity<machine_row>) {
  using t = machine_row;
  return fields(field(1, "cluster", &t::cluster).as_bytes(), field(2, "task", &t::task).as_bytes(),
                field(3, "host", &t::host).as_bytes(), field(4, "at", &t::at),
                field(5, "figure", &t::figures));
}
constexpr std::array figures{&machine_sample::cpu,      &machine_sample::memory,
                             &machine_sample::gpu,      &machine_sample::gpu_memory,
                             &machine_sample::received, &machine_sample::sent,
                             &machine_sample::read,     &machine_sample::written};

struct span_row {
  std::uint32_t lane = 0, function = 0;  // indexes into the record's names
  core::span_state state{};
  std::uint64_t started = 0;  // difference from the previous row's value, in zigzag encoding
  core::duration lasted{}, busy{};
  std::uint32_t count = 0, failed = 0;
  core::closure_id closure{};
  core::session_id job{};
};
constexpr auto fields_of(std::type_identity<span_row>) {
  using t = span_row;
  return fields(field(4, "lane", &t::lane), field(5, "function", &t::function),
                field(6, "state", &t::state), field(7, "started", &t::started),
                field(8, "lasted", &t::lasted), field(9, "busy", &t::busy),
                field(10, "count", &t::count), field(11, "failed", &t::failed),
                field(12, "closure", &t::closure).as_fixed(), field(13, "job", &t::job));
}

struct lane_row {
  std::string job{};
  std::int64_t index = 0;
};
constexpr auto fields_of(std::type_identity<lane_row>) {
  return fields(field(1, "job", &lane_row::job).as_bytes(), field(2, "index", &lane_row::index));
}

struct spans_record {
  std::string cluster{};
  std::vector<lane_row> lanes{};
  std::vector<history::names::function> functions{};
  std::vector<span_row> rows{};
};

struct line_row {
  core::session_id job{};
  log_line line{};
  std::uint32_t worker = 0;
};
constexpr auto fields_of(std::type_identity<line_row>) {
  return fields(field(1, "job", &line_row::job).as_fixed(), core::flat(&line_row::line),
                field(7, "worker", &line_row::worker));
}

struct run_row {
  std::string cluster{};
  core::coordination::generation_view run{};
  bool caused = false;  // whether the next four fields are set
  std::string task{}, peer{}, message{};
  core::time_point at{};
  std::vector<std::uint64_t> by_health{};
};
constexpr auto fields_of(std::type_identity<run_row>) {
  using t = run_row;
  return fields(field(1, "cluster", &t::cluster).as_bytes(), core::flat(&t::run),
                field(7, "caused", &t::caused), field(8, "cause_task", &t::task).as_bytes(),
                field(9, "cause_peer", &t::peer).as_bytes(),
                field(10, "cause", &t::message).as_bytes(), field(11, "cause_at", &t::at),
                field(12, "by_health", &t::by_health));
}

struct job_row {
  core::job_view job{};
  std::string error{};
};
constexpr auto fields_of(std::type_identity<job_row>) {
  return fields(core::flat(&job_row::job), field(16, "error", &job_row::error).as_bytes());
}

// Limit for times, because times are added and data from disk can contain any number.
bool possible(core::duration d) {
  constexpr core::duration longest(std::int64_t{1} << 56);
  return d >= -longest && d <= longest;
}

// Limits metadata, which clients can make arbitrarily long.
constexpr std::size_t metadata_bytes_max = 4'096;

}  // namespace
}  // namespace muster::server

namespace muster::core {
template <>
inline constexpr bool in_columns<server::span_row> = true;
}  // namespace muster::core

namespace muster::server {
namespace {

constexpr auto fields_of(std::type_identity<spans_record>) {
  using t = spans_record;
  return fields(field(1, "cluster", &t::cluster).as_bytes(), field(2, "lanes", &t::lanes),
                field(3, "functions", &t::functions), field(4, "lane", &t::rows));
}

void count(std::size_t* unreadable, std::size_t n = 1) {
  if (unreadable) *unreadable += n;
}

template <class Row>
void put_row(std::string& to, Row const& row, std::uint32_t number = 1) {
  entry::put_value(to, {.number = number}, row);
}

// Calls `take(field)` for each length-delimited field of a record. Returns whether the end of the
// record was reached.
template <class Take>
bool each_field_of(std::string_view bytes, Take const& take) {
  entry::reader r(bytes);
  for (entry::item i; r.next(i);)
    if (i.type == entry::bytes) take(i);
  return !r.damaged();
}

template <class Row>
bool read_row(std::string_view bytes, Row& into, std::size_t* unreadable) {
  bool in_range = true;
  bool const fine = journal::decode_entry(bytes, into, in_range) && in_range;
  if (!fine) count(unreadable);
  return fine;
}

template <class Row, class Take>
void each_row(std::string_view bytes, std::size_t* unreadable, Take const& take) {
  bool const whole = each_field_of(bytes, [&](entry::item const& i) {
    Row row;
    if (i.number == 1 && read_row(i.data, row, unreadable)) take(row);
  });
  if (!whole) count(unreadable);
}

}  // namespace

std::string encoded(std::vector<event> const& all) {
  std::string bytes;
  for (auto const& e : all) put_row(bytes, e);
  return bytes;
}

std::vector<event> events_from(std::string_view bytes, std::size_t* unreadable) {
  std::vector<event> all;
  each_row<event>(bytes, unreadable, [&all](event& e) { all.push_back(std::move(e)); });
  return all;
}

std::string encoded(chart_point const& p) {
  return journal::encoded_entry(point_record{p.series, p.at, {p.figures.begin(), p.figures.end()}});
}

chart_point point_from(std::string_view bytes, std::size_t* unreadable) {
  point_record r;
  chart_point p;
  if (!read_row(bytes, r, unreadable)) return p;
  if (r.figures.size() != p.figures.size()) {
    count(unreadable);
    return p;
  }
  p.series = r.series;
  p.at = r.at;
  std::copy(r.figures.begin(), r.figures.end(), p.figures.begin());
  return p;
}

std::string encoded(std::vector<recorded_machine> const& all) {
  std::string bytes;
  for (auto const& m : all) {
    machine_row row{m.cluster, m.task, m.host, m.sample.at, {}};
    for (auto const figure : figures) row.figures.push_back(m.sample.*figure);
    put_row(bytes, row);
  }
  return bytes;
}

std::vector<recorded_machine> machines_from(std::string_view bytes, std::size_t* unreadable) {
  std::vector<recorded_machine> all;
  each_row<machine_row>(bytes, unreadable, [&](machine_row& row) {
    if (row.figures.size() != figures.size()) return count(unreadable);
    auto& m = all.emplace_back(recorded_machine{
        std::move(row.cluster), std::move(row.task), std::move(row.host), {row.at}});
    for (std::size_t i = 0; i < figures.size(); ++i) m.sample.*figures[i] = row.figures[i];
  });
  return all;
}

std::string encoded(std::string const& cluster, core::span_page const& page,
                    history::names const& named) {
  spans_record r{cluster, {}, {}, {}};
  std::map<std::uint32_t, std::uint32_t> lanes, functions;
  for (auto const& l : page.names.lanes) {
    lanes.emplace(l.lane, r.lanes.size());
    r.lanes.push_back({l.job, l.index});
  }
  auto const position_of = [&](core::function_id f) {
    auto const [at, fresh] = functions.try_emplace(raw(f), r.functions.size());
    if (fresh)
      r.functions.push_back(f == core::several_functions ? history::names::function{} : named[f]);
    return at->second;
  };
  core::time_point before{};
  for (auto const& s : page.spans) {
    auto const since = (s.started - std::exchange(before, s.started)).count();
    auto const zigzag =
        static_cast<std::uint64_t>(since) << 1 ^ static_cast<std::uint64_t>(since < 0 ? -1 : 0);
    auto const busy = s.closure == core::closure_id{} ? s.busy : core::duration{};
    r.rows.push_back({lanes.at(s.lane), position_of(s.function), s.state, zigzag, s.lasted, busy,
                      s.count, s.failed, s.closure, s.job});
  }
  return journal::encoded_entry(r);
}

// Returns only complete rows, because the columns of a damaged record can differ in length.
recorded_spans spans_from(std::string_view bytes, std::size_t* unreadable) {
  spans_record r;
  bool in_range = true;
  if (!journal::decode_entry(bytes, r, in_range)) {
    count(unreadable);
    return {};
  }
  if (!in_range) count(unreadable);
  recorded_spans all{std::move(r.cluster), {}};
  std::uint64_t started_us = 0;  // unsigned, because a sum of damaged numbers can overflow
  for (auto const& row : r.rows) {
    started_us += row.started >> 1 ^ (0 - (row.started & 1));
    core::duration const since(static_cast<std::int64_t>(started_us));
    core::time_point const started(since);
    if (row.lane >= r.lanes.size() || row.function >= r.functions.size() || !possible(since) ||
        !possible(row.lasted) || !possible(row.busy)) {
      count(unreadable);
      continue;
    }
    all.spans.push_back({{r.lanes[row.lane].job, r.lanes[row.lane].index},
                         r.functions[row.function],
                         {0,
                          {},
                          row.state,
                          started,
                          row.lasted,
                          row.busy,
                          row.count,
                          row.failed,
                          row.closure,
                          row.job}});
  }
  return all;
}

std::string encoded(recorded_lines const& all) {
  std::string bytes, rows;
  std::map<std::string, std::uint32_t> workers;
  if (!all.cluster.empty()) entry::put_bytes(bytes, 1, all.cluster);
  for (auto const& [job, line] : all.lines) {
    auto const name = line.worker ? *line.worker : std::string();
    auto const [at, fresh] = workers.try_emplace(name, workers.size());
    if (fresh) entry::put_bytes(bytes, 2, name);
    put_row(rows, line_row{job, line, at->second}, 3);
  }
  return bytes + rows;
}

// Usually few lines of a record are wanted. The job is a line's first field, so that other lines
// are skipped early.
recorded_lines lines_from(std::string_view bytes, std::size_t* unreadable,
                          std::function<bool(core::session_id)> const& wanted) {
  recorded_lines all;
  std::vector<std::shared_ptr<std::string const>> workers;
  core::session_id last{};
  bool last_wanted = !wanted || wanted(last);
  bool const whole = each_field_of(bytes, [&](entry::item const& i) {
    if (i.number == 1) all.cluster = i.data;
    if (i.number == 2) workers.push_back(std::make_shared<std::string const>(i.data));
  });
  if (!whole) count(unreadable);
  (void)each_field_of(bytes, [&](entry::item const& i) {
    if (i.number != 3) return;
    entry::item first;
    if (wanted && entry::reader(i.data).next(first) && first.number == 1) {
      auto const job = core::session_id{first.value};
      if (std::exchange(last, job) != job) last_wanted = wanted(job);
      if (!last_wanted) return;
    }
    line_row row;
    if (!read_row(i.data, row, unreadable) || (wanted && !wanted(row.job))) return;
    if (row.worker < workers.size()) row.line.worker = workers[row.worker];
    all.lines.emplace_back(row.job, std::move(row.line));
  });
  return all;
}

std::string encoded(std::vector<recorded_run> const& all) {
  std::string bytes;
  for (auto const& [cluster, run] : all) {
    auto const why = run.cause.value_or(core::coordination::first_cause{});
    put_row(bytes, run_row{cluster,
                           run,
                           run.cause.has_value(),
                           why.task,
                           why.peer,
                           why.message,
                           why.at,
                           {run.by_health.begin(), run.by_health.end()}});
  }
  return bytes;
}

std::vector<recorded_run> runs_from(std::string_view bytes, std::size_t* unreadable) {
  std::vector<recorded_run> all;
  each_row<run_row>(bytes, unreadable, [&all](run_row& row) {
    auto& run = all.emplace_back(recorded_run{std::move(row.cluster), std::move(row.run)}).run;
    if (row.caused) run.cause = {row.task, row.peer, row.message, row.at};
    std::copy_n(row.by_health.begin(), std::min(row.by_health.size(), run.by_health.size()),
                run.by_health.begin());
  });
  return all;
}

std::string encoded(std::vector<core::job_view> const& all) {
  std::string bytes;
  for (auto const& j : all) {
    job_row row{j, j.error ? j.error->message : ""};
    if (j.metadata.size() > metadata_bytes_max) row.job.metadata.clear();
    put_row(bytes, row);
  }
  return bytes;
}

std::vector<core::job_view> jobs_from(std::string_view bytes, std::size_t* unreadable) {
  std::vector<core::job_view> all;
  each_row<job_row>(bytes, unreadable, [&all](job_row& row) {
    if (!row.error.empty()) row.job.error.emplace().message = std::move(row.error);
    all.push_back(std::move(row.job));
  });
  return all;
}

std::string encoded(doctor::step_segment const& s) {
  return journal::encoded_entry(s);
}

doctor::step_segment steps_from(std::string_view bytes, std::size_t* unreadable) {
  doctor::step_segment s;
  return read_row(bytes, s, unreadable) ? s : doctor::step_segment{};
}

}  // namespace muster::server
