#include "server/history/store/records.hpp"

#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <map>
#include <utility>

#include "muster/journal/v1/history.pb.h"
#include "server/history/store/record_parsing.hpp"
#include "server/history/store/record_times.hpp"

namespace muster::server {
namespace {

namespace wire = muster::journal::v1;
using core::coordination::severity;
using history::machine_sample;

void count(std::size_t* unreadable, std::size_t n = 1) {
  if (unreadable) *unreadable += n;
}

constexpr std::array figures{&machine_sample::cpu,      &machine_sample::memory,
                             &machine_sample::gpu,      &machine_sample::gpu_memory,
                             &machine_sample::received, &machine_sample::sent,
                             &machine_sample::read,     &machine_sample::written};

// A record has lines of many jobs, of which few are there: whether it has one that is wanted can be
// seen without the lines. True where it cannot.
bool may_have(std::string_view bytes, std::function<bool(core::session_id)> const& wanted) {
  constexpr std::uint32_t line_tag = wire::PastLines::kLineFieldNumber << 3 | 2;
  constexpr std::uint32_t job_tag = wire::PastLines::Line::kJobFieldNumber << 3 | 1;
  google::protobuf::io::CodedInputStream in(reinterpret_cast<std::uint8_t const*>(bytes.data()),
                                            static_cast<int>(bytes.size()));
  std::uint64_t last = 0;
  for (std::uint32_t tag = 0, size = 0; (tag = in.ReadTag()) != 0;) {
    if ((tag & 7) != 2 || !in.ReadVarint32(&size)) return true;
    std::uint64_t job = 0;
    auto left = static_cast<int>(size);
    if (tag == line_tag) {
      auto const at = in.CurrentPosition();
      if (in.ReadTag() != job_tag || !in.ReadLittleEndian64(&job)) return true;
      left -= in.CurrentPosition() - at;
      if (job != last && wanted(core::session_id{job})) return true;
      last = job;
    }
    if (left < 0 || !in.Skip(left)) return true;
  }
  return false;
}

}  // namespace

std::string encoded(std::vector<event> const& all) {
  wire::PastEvents w;
  for (auto const& e : all) {
    auto& to = *w.add_event();
    to.set_at(us_of(e.at));
    to.set_severity(static_cast<std::uint32_t>(e.what.severity));
    to.set_kind(e.what.kind);
    to.set_cluster(e.what.cluster);
    to.set_subject(e.what.subject);
    to.set_text(e.what.text);
  }
  return w.SerializeAsString();
}

std::vector<event> events_from(std::string_view bytes, std::size_t* unreadable) {
  std::vector<event> all;
  auto const w = rows_of<wire::PastEvents>(bytes, unreadable);
  for (auto const& e : w.event()) {
    auto const how = std::min(e.severity(), static_cast<std::uint32_t>(severity::error));
    all.push_back({0,
                   from_us(e.at()),
                   {static_cast<severity>(how), e.kind(), e.cluster(), e.subject(), e.text()}});
  }
  return all;
}

std::string encoded(past_point const& p) {
  wire::PastPoint w;
  w.set_series(p.series);
  w.set_at(us_of(p.at));
  for (auto const f : p.figures) w.add_figure(f);
  return w.SerializeAsString();
}

past_point point_from(std::string_view bytes, std::size_t* unreadable) {
  std::size_t lost = 0;
  auto const w = whole_of<wire::PastPoint>(bytes, &lost);
  past_point p;
  if (static_cast<std::size_t>(w.figure_size()) != p.figures.size()) lost = 1;
  count(unreadable, lost);
  if (lost > 0) return p;
  p.series = w.series();
  p.at = from_us(w.at());
  std::copy(w.figure().begin(), w.figure().end(), p.figures.begin());
  return p;
}

std::string encoded(std::vector<past_machine> const& all) {
  wire::PastMachines w;
  for (auto const& m : all) {
    auto& to = *w.add_machine();
    to.set_cluster(m.cluster);
    to.set_task(m.task);
    to.set_host(m.host);
    to.set_at(m.sample.at);
    for (auto const figure : figures) to.add_figure(m.sample.*figure);
  }
  return w.SerializeAsString();
}

std::vector<past_machine> machines_from(std::string_view bytes, std::size_t* unreadable) {
  std::vector<past_machine> all;
  auto const w = rows_of<wire::PastMachines>(bytes, unreadable);
  for (auto const& m : w.machine()) {
    if (static_cast<std::size_t>(m.figure_size()) != figures.size()) {
      count(unreadable);
      continue;
    }
    past_machine to{m.cluster(), m.task(), m.host(), {m.at()}};
    for (std::size_t i = 0; i < figures.size(); ++i)
      to.sample.*figures[i] = m.figure(static_cast<int>(i));
    all.push_back(std::move(to));
  }
  return all;
}

std::string encoded(std::string const& cluster, core::span_page const& page,
                    history::names const& named) {
  wire::PastSpans w;
  w.set_cluster(cluster);
  std::map<std::uint32_t, std::uint32_t> lanes, functions;  // to their positions
  for (auto const& l : page.names.lanes) {
    lanes.emplace(l.lane, w.lanes_size());
    auto& to = *w.add_lanes();
    to.set_job(l.job);
    to.set_index(l.index);
  }
  auto const position_of = [&](core::function_id f) {
    auto const [at, anew] = functions.try_emplace(raw(f), w.functions_size());
    if (!anew) return at->second;
    auto& to = *w.add_functions();
    if (f == core::several_functions) return at->second;
    to.set_name(named[f].name);
    to.set_served(named[f].served);
    to.set_hash(named[f].hash);
    to.set_callable(named[f].callable);
    return at->second;
  };
  std::int64_t before = 0;
  for (auto const& s : page.spans) {
    w.add_lane(lanes.at(s.lane));
    w.add_function(position_of(s.function));
    w.add_state(static_cast<std::uint32_t>(s.state));
    w.add_started(us_of(s.started) - std::exchange(before, us_of(s.started)));
    w.add_lasted(static_cast<std::uint64_t>(s.lasted.count()));
    w.add_busy(s.closure == core::closure_id{} ? static_cast<std::uint64_t>(s.busy.count()) : 0);
    w.add_count(s.count);
    w.add_failed(s.failed);
    w.add_closure(raw(s.closure));
    w.add_job(raw(s.job));
  }
  return w.SerializeAsString();
}

// The columns of a damaged record may differ in length; rows that all of them have are whole.
past_spans spans_from(std::string_view bytes, std::size_t* unreadable) {
  auto const w = whole_of<wire::PastSpans>(bytes, unreadable);
  past_spans all{w.cluster(), {}};
  auto const columns = {w.lane_size(),    w.function_size(), w.state_size(), w.started_size(),
                        w.lasted_size(),  w.busy_size(),     w.count_size(), w.failed_size(),
                        w.closure_size(), w.job_size()};
  auto const n = std::min(columns);
  count(unreadable, static_cast<std::size_t>(std::max(columns) - n));
  std::int64_t started = 0;
  for (int i = 0; i < n; ++i) {
    started += w.started(i);
    if (w.lane(i) >= static_cast<std::uint32_t>(w.lanes_size()) ||
        w.function(i) >= static_cast<std::uint32_t>(w.functions_size())) {
      count(unreadable);
      continue;
    }
    auto const& lane = w.lanes(static_cast<int>(w.lane(i)));
    auto const& f = w.functions(static_cast<int>(w.function(i)));
    history::past_span s{
        {lane.job(), lane.index()}, {f.name(), f.served(), f.hash(), f.callable()}, {}};
    auto& v = s.what;
    v.state = static_cast<core::span_state>(
        std::min(w.state(i), static_cast<std::uint32_t>(core::span_state::lost)));
    v.started = from_us(started);
    v.lasted = core::duration(static_cast<std::int64_t>(w.lasted(i)));
    v.busy = core::duration(static_cast<std::int64_t>(w.busy(i)));
    v.count = w.count(i);
    v.failed = w.failed(i);
    v.closure = core::closure_id{w.closure(i)};
    v.job = core::session_id{w.job(i)};
    all.spans.push_back(std::move(s));
  }
  return all;
}

std::string encoded(past_lines const& all) {
  wire::PastLines w;
  w.set_cluster(all.cluster);
  std::map<std::string, std::uint32_t> workers;
  for (auto const& [job, line] : all.lines) {
    auto const name = line.worker ? *line.worker : std::string();
    auto const [at, anew] = workers.try_emplace(name, w.workers_size());
    if (anew) w.add_workers(name);
    auto& to = *w.add_line();
    to.set_job(raw(job));
    to.set_closure(raw(line.closure));
    to.set_index(line.index);
    to.set_attempt(line.attempt);
    to.set_level(static_cast<std::uint32_t>(line.level));
    to.set_at(us_of(line.at));
    to.set_worker(at->second);
    to.set_text(line.text);
  }
  return w.SerializeAsString();
}

past_lines lines_from(std::string_view bytes, std::size_t* unreadable,
                      std::function<bool(core::session_id)> const& wanted) {
  if (wanted && !may_have(bytes, wanted)) return {};
  auto const w = rows_of<wire::PastLines>(bytes, unreadable);
  past_lines all{w.cluster(), {}};
  std::vector<std::shared_ptr<std::string const>> workers;
  for (auto const& name : w.workers()) workers.push_back(std::make_shared<std::string const>(name));
  for (auto const& l : w.line()) {
    if (wanted && !wanted(core::session_id{l.job()})) continue;
    log_line to;
    to.at = from_us(l.at());
    to.closure = core::closure_id{l.closure()};
    to.index = l.index();
    to.attempt = l.attempt();
    to.level =
        static_cast<log_level>(std::min(l.level(), static_cast<std::uint32_t>(log_level::dropped)));
    to.text = l.text();
    if (l.worker() < workers.size()) to.worker = workers[l.worker()];
    all.lines.emplace_back(core::session_id{l.job()}, std::move(to));
  }
  return all;
}

}  // namespace muster::server
