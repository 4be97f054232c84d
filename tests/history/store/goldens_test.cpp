// Records are encoded as earlier servers did, and decoded without loss. See
// tests/support/goldens.hpp.
#include "tests/support/goldens.hpp"

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>

#include "muster/journal/v1/history.pb.h"
#include "server/history/store/records.hpp"
#include "tests/support/enumerators.hpp"

namespace muster::server {
namespace history_golden_cases {

using namespace std::chrono_literals;
using core::coordination::agent_health;
using core::coordination::generation_state;
using core::coordination::severity;
using test::golden;
namespace wire = muster::journal::v1;

constexpr auto records_file = "tests/history/store/goldens";
constexpr core::time_point at{std::chrono::seconds(1'700'000'000)};

template <class Enum>
struct number {
  Enum value;
  std::uint32_t stored;
};

// Never change a number.
constexpr number<severity> severities[] = {
    {severity::info, 0}, {severity::warning, 1}, {severity::error, 2}};
constexpr number<core::span_state> span_states[] = {{core::span_state::succeeded, 0},
                                                    {core::span_state::failed, 1},
                                                    {core::span_state::cancelled, 2},
                                                    {core::span_state::lost, 3}};
constexpr number<log_level> log_levels[] = {
    {log_level::info, 0},   {log_level::debug, 1},           {log_level::warning, 2},
    {log_level::error, 3},  {log_level::standard_output, 4}, {log_level::standard_error, 5},
    {log_level::dropped, 6}};
constexpr number<generation_state> generation_states[] = {{generation_state::waiting, 0},
                                                          {generation_state::registering, 1},
                                                          {generation_state::running, 2},
                                                          {generation_state::failed, 3},
                                                          {generation_state::finished, 4}};
// Without `queued`: only jobs that have ended are recorded.
constexpr number<core::job_state> job_states[] = {{core::job_state::running, 0},
                                                  {core::job_state::succeeded, 1},
                                                  {core::job_state::failed, 2},
                                                  {core::job_state::cancelled, 3}};
// Positions in PastRuns.Run.by_health.
constexpr number<agent_health> agent_healths[] = {
    {agent_health::missing, 0}, {agent_health::registering, 1}, {agent_health::connected, 2},
    {agent_health::late, 3},    {agent_health::error, 4},       {agent_health::disconnected, 5}};
// Positions in PastPoint.figure; without `figures_count`.
constexpr number<chart_point::figure> figures[] = {
    {chart_point::queued, 0},   {chart_point::running, 1},       {chart_point::finished, 2},
    {chart_point::failed, 3},   {chart_point::heartbeat_p99, 4}, {chart_point::wait_p50, 5},
    {chart_point::wait_p99, 6}, {chart_point::run_p50, 7},       {chart_point::run_p99, 8}};

std::vector<event> full_events() {
  std::vector<event> all{{}};
  for (auto const& [how, n] : severities)
    all.push_back(
        {1, at + n * 1s, {how, "kind 1\xff", "train 2\xfe", "worker:3\xfd", "text 4\xfc"}});
  return all;
}

chart_point full_point() {
  chart_point p{2, at + 11s, {}};
  for (auto const& [figure, n] : figures) p.figures[figure] = 12.5f + static_cast<float>(n);
  return p;
}

std::vector<recorded_machine> full_machines() {
  recorded_machine m{"train 21\xff", "worker:22\xfe", "host-23\xfd", {}};
  m.sample.at = 24;
  m.sample.cpu = 25.5f;
  m.sample.memory = 26.5f;
  m.sample.gpu = 27.5f;
  m.sample.gpu_memory = 28.5f;
  m.sample.received = 29.5f;
  m.sample.sent = 30.5f;
  m.sample.read = 31.5f;
  m.sample.written = 32.5f;
  recorded_machine const empty{"", "", "", {0, 0, 0, 0, 0, 0, 0, 0, 0}};
  return {m, empty, {"", "", "", {}}};
}

recorded_spans full_spans() {
  recorded_spans all{"train 41\xff", {}};
  for (auto const& [state, n] : span_states) {
    auto& s = all.spans.emplace_back();
    s.lane = {"worker\xfe", 5'000'000'042 + n % 2};
    s.function = {"step 43\xfd", "python:3.11\xfc", "hash 44\xfb", true};
    s.what.state = state;
    s.what.started = at - n * 45s;  // sorted by end times
    s.what.lasted = 2h + n * 46s;
    s.what.failed = n == 1;
    s.what.closure = core::closure_id{0xf000'0047'0000'0048 + n};
    s.what.job = core::session_id{0xf000'0000'0000'0049 + n};
  }
  history::recorded_span sum;  // a sum over several functions
  sum.lane = {"", 0};
  sum.what.started = core::time_point{};
  sum.what.busy = 3h;
  sum.what.count = 50;
  sum.what.failed = 51;
  all.spans.push_back(sum);
  auto& other = all.spans.emplace_back(sum);
  other.function = {"load 52", "", "", false};
  other.what.busy = {};
  other.what.count = 0;
  return all;
}

recorded_lines full_lines() {
  recorded_lines all{"train 61\xff", {}};
  for (auto const& [level, n] : log_levels) {
    auto& [job, line] = all.lines.emplace_back(core::session_id{0xf000'0000'0000'0062}, log_line{});
    line.closure = core::closure_id{0xf000'0063'0000'0064};
    line.index = 65;
    line.attempt = 66;
    line.level = level;
    line.at = at + 67s;
    line.text = "text 68\xfe";
    line.worker = std::make_shared<std::string const>("worker:69\xfd " + std::to_string(n % 2));
  }
  all.lines.emplace_back();
  return all;
}

std::vector<recorded_run> full_runs() {
  recorded_run one{"train 71\xff", {}};
  auto& r = one.run;
  r.number = 5'000'000'072;
  r.incarnation = core::incarnation{0xf000'0000'0000'0073};
  r.started = at + 74s;
  r.ended = at + 75s;
  r.cause = core::coordination::first_cause{"worker:76\xfe", "10.0.0.77:1\xfd", "it died 78\xfc",
                                            at + 79s};
  for (auto const& [health, n] : agent_healths)
    r.by_health[static_cast<std::size_t>(health)] = 6'000'000'080 + n;
  r.barriers_remembered = 7'000'000'086;
  r.keys = 8'000'000'087;
  r.key_bytes = 9'000'000'088;
  std::vector<recorded_run> all{{}, {}};
  all.back().run.cause.emplace();
  for (auto const& [state, n] : generation_states) {
    one.run.state = state;
    all.push_back(one);
  }
  return all;
}

std::vector<core::job_view> full_jobs() {
  core::job_view j;
  j.id = core::session_id{0xf000'0000'0000'0091};
  j.cluster = "train 92\xff";
  j.name = "name 93\xfe";
  j.created = at + 94s;
  j.finished = at + 95s;
  j.streaming = true;
  j.submitted_by = "token-96\xfd";
  j.client = "10.0.0.97:1\xfc";
  j.metadata = "{\"a\":98}";
  j.counts.succeeded = 5'000'000'099;
  j.counts.failed = 5'000'000'100;
  j.counts.cancelled = 5'000'000'101;
  j.retried = 5'000'000'102;
  j.requeued = 5'000'000'103;
  j.error.emplace().message = "no such column 104\xfb";
  std::vector<core::job_view> all{{}};
  for (auto const& [state, n] : job_states) {
    j.state = state;
    all.push_back(j);
  }
  return all;
}

doctor::step_segment full_steps() {
  doctor::step_segment s;
  s.program = core::program_id{0xf000'0000'0000'0111};
  s.attempt = 112;
  s.made = at + 113s;
  s.first = at + 114s;
  s.last = at + 115s;
  s.spans = 4;
  s.bytes = doctor::packed({{1, 1, 116, at + 117s, 2s, 2s},
                            {1, 1, 117, at + 118s, 1s, 1s},
                            {1, 5, 130, at + 140s, 10s, 3s},
                            {0x8000'0000, 1, 5'000'000'118, at + 150s, 2h, 2h}},
                           s.first);
  return s;
}

// As the activity log does.
std::string encoded_spans(recorded_spans const& all) {
  core::config const limits;
  history::names named(limits, [](auto const&) {});
  core::span_page page;
  std::map<core::lane_key, std::uint32_t> lanes;
  for (auto const& s : all.spans) {
    auto const [lane, is_new] = lanes.try_emplace(s.lane, lanes.size());
    if (is_new) page.names.lanes.push_back({lane->second, s.lane.first, s.lane.second, 0});
    auto& v = page.spans.emplace_back(s.what);
    v.lane = lane->second;
    v.function = s.function.name.empty() ? core::several_functions : named.of(s.function, at);
  }
  return encoded(all.cluster, page, named);
}

struct kind {
  std::string name;
  google::protobuf::Message const& form;
  std::vector<std::string> records;  // encoded by the current code
  std::function<std::string(std::string_view, std::size_t*)> reencoded;
};

template <class Message>
Message const& form() {
  return Message::default_instance();
}

std::vector<kind> const& kinds() {
  static std::vector<kind> const all{
      {"events",
       form<wire::PastEvents>(),
       {encoded(full_events()), encoded(std::vector<event>())},
       [](auto bytes, auto* n) { return encoded(events_from(bytes, n)); }},
      {"points",
       form<wire::PastPoint>(),
       {encoded(full_point()), encoded(chart_point())},
       [](auto bytes, auto* n) { return encoded(point_from(bytes, n)); }},
      {"machines",
       form<wire::PastMachines>(),
       {encoded(full_machines()), encoded(std::vector<recorded_machine>())},
       [](auto bytes, auto* n) { return encoded(machines_from(bytes, n)); }},
      {"spans",
       form<wire::PastSpans>(),
       {encoded_spans(full_spans()), encoded_spans({})},
       [](auto bytes, auto* n) { return encoded_spans(spans_from(bytes, n)); }},
      {"lines",
       form<wire::PastLines>(),
       {encoded(full_lines()), encoded(recorded_lines())},
       [](auto bytes, auto* n) { return encoded(lines_from(bytes, n)); }},
      {"runs",
       form<wire::PastRuns>(),
       {encoded(full_runs()), encoded(std::vector<recorded_run>())},
       [](auto bytes, auto* n) { return encoded(runs_from(bytes, n)); }},
      {"jobs",
       form<wire::PastJobs>(),
       {encoded(full_jobs()), encoded(std::vector<core::job_view>())},
       [](auto bytes, auto* n) { return encoded(jobs_from(bytes, n)); }},
      {"steps",
       form<wire::PastSteps>(),
       {encoded(full_steps()), encoded(doctor::step_segment())},
       [](auto bytes, auto* n) { return encoded(steps_from(bytes, n)); }}};
  return all;
}

void each_committed(std::function<void(kind const&, std::string const&)> const& f) {
  auto const all = test::read_goldens(records_file);
  for (auto const& g : all)
    for (auto const& k : kinds())
      if (k.name == g.name) f(k, g.value);
}

test::field_coverage coverage() {
  test::field_coverage all;
  each_committed([&all](kind const& k, std::string const& bytes) {
    std::unique_ptr<google::protobuf::Message> m(k.form.New());
    ASSERT_TRUE(m->ParseFromString(bytes)) << k.name;
    all.add(*m);
  });
  return all;
}

// Expects a record to be decoded without loss and encoded to the same bytes.
void expect_reads(kind const& k, std::string const& bytes, std::string const& want) {
  std::size_t unreadable = 0;
  EXPECT_EQ(k.reencoded(bytes, &unreadable), want) << k.name;
  EXPECT_EQ(unreadable, 0u) << k.name;
}

TEST(history_goldens, match_what_the_history_writes) {
  std::vector<golden> all;
  for (auto const& k : kinds())
    for (auto const& bytes : k.records) all.push_back({k.name, "put", {}, bytes});
  test::expect_goldens(records_file, all);
}

TEST(history_goldens, are_unchanged_after_reading) {
  each_committed([](kind const& k, std::string const& bytes) { expect_reads(k, bytes, bytes); });
}

TEST(history_goldens, with_unknown_fields_are_read) {
  each_committed([](kind const& k, std::string const& bytes) {
    auto const newer = test::with_unknown_fields(*k.form.GetDescriptor(), bytes);
    ASSERT_GT(newer.size(), bytes.size());
    expect_reads(k, newer, bytes);
  });
}

TEST(history_goldens, with_fields_in_another_order_are_read) {
  each_committed([](kind const& k, std::string const& bytes) {
    expect_reads(k, test::with_fields_reversed(*k.form.GetDescriptor(), bytes), bytes);
  });
}

TEST(history_goldens, truncated_records_are_counted) {
  each_committed([](kind const& k, std::string const& bytes) {
    auto const expect_loss = [&k](std::string const& part) {
      std::size_t unreadable = 0;
      (void)k.reencoded(part, &unreadable);
      EXPECT_GT(unreadable, 0u) << k.name << " with " << part.size() << " bytes";
    };
    for (std::size_t n = 0; n < bytes.size(); ++n) {
      auto const part = bytes.substr(0, n);
      if (test::has_whole_fields(part))
        (void)k.reencoded(part, nullptr);  // must not crash
      else
        expect_loss(part);
    }
    for (auto const& part : test::with_nested_message_cut(*k.form.GetDescriptor(), bytes))
      expect_loss(part);
  });
}

// Columns of fixed length.
std::set<std::string> known_gaps() {
  return {"PastMachines.Machine.figure absent", "PastPoint.figure absent",
          "PastRuns.Run.by_health absent"};
}

TEST(history_goldens, show_every_field_of_every_message) {
  auto const all = coverage();
  std::set<std::string> gaps;
  for (auto const& k : kinds()) gaps.merge(all.gaps(*k.form.GetDescriptor()));
  EXPECT_EQ(gaps, known_gaps());
}

TEST(history_goldens, show_every_message_of_the_description) {
  auto const* const file = wire::PastEvents::descriptor()->file();
  std::set<std::string> all, seen;
  for (int i = 0; i < file->message_type_count(); ++i)
    all.insert(file->message_type(i)->full_name());
  for (auto const& k : kinds()) seen.insert(k.form.GetDescriptor()->full_name());
  EXPECT_EQ(seen, all);
}

template <class Enum, std::size_t n>
void expect_complete(number<Enum> const (&)[n], std::size_t others) {
  EXPECT_EQ(n + others, test::enumerators<Enum>()) << "an enumerator has no number here";
}

TEST(history_numbers, never_change) {
  expect_complete(severities, 0);
  for (auto const& [how, n] : severities) {
    wire::PastEvents w;
    ASSERT_TRUE(w.ParseFromString(encoded(std::vector<event>{{1, at, {how, "", "", "", ""}}})));
    EXPECT_EQ(w.event(0).severity(), n);
  }
  expect_complete(span_states, 0);
  for (auto const& [state, n] : span_states) {
    recorded_spans one{"", {{}}};
    one.spans[0].what.state = state;
    wire::PastSpans w;
    ASSERT_TRUE(w.ParseFromString(encoded_spans(one)));
    EXPECT_EQ(w.state(0), n);
  }
  expect_complete(log_levels, 0);
  for (auto const& [level, n] : log_levels) {
    recorded_lines one{"", {{}}};
    one.lines[0].second.level = level;
    wire::PastLines w;
    ASSERT_TRUE(w.ParseFromString(encoded(one)));
    EXPECT_EQ(w.line(0).level(), n);
  }
  expect_complete(job_states, 1);
  for (auto const& [state, n] : job_states) {
    std::vector<core::job_view> one(1);
    one[0].state = state;
    wire::PastJobs w;
    ASSERT_TRUE(w.ParseFromString(encoded(one)));
    EXPECT_EQ(w.job(0).state(), n);
  }
}

TEST(history_numbers, of_runs_and_positions_of_figures_never_change) {
  expect_complete(generation_states, 0);
  for (auto const& [state, n] : generation_states) {
    std::vector<recorded_run> one(1);
    one[0].run.state = state;
    wire::PastRuns w;
    ASSERT_TRUE(w.ParseFromString(encoded(one)));
    EXPECT_EQ(w.run(0).state(), n);
  }
  expect_complete(agent_healths, 0);
  for (auto const& [health, n] : agent_healths) {
    std::vector<recorded_run> one(1);
    one[0].run.by_health[static_cast<std::size_t>(health)] = 1;
    wire::PastRuns w;
    ASSERT_TRUE(w.ParseFromString(encoded(one)));
    EXPECT_EQ(w.run(0).by_health(static_cast<int>(n)), 1u);
  }
  expect_complete(figures, 1);
  for (auto const& [figure, n] : figures) {
    chart_point one;
    one.figures[figure] = 1;
    wire::PastPoint w;
    ASSERT_TRUE(w.ParseFromString(encoded(one)));
    EXPECT_EQ(w.figure(static_cast<int>(n)), 1);
  }
}

TEST(history_goldens, show_every_enumerator) {
  auto const all = coverage();
  auto const expect = [&all](std::string const& field, auto const& numbers) {
    auto const seen = all.numbers(field);
    for (auto const& n : numbers) EXPECT_TRUE(seen.contains(n.stored)) << field << " " << n.stored;
  };
  expect("PastEvents.Event.severity", severities);
  expect("PastSpans.state", span_states);
  expect("PastLines.Line.level", log_levels);
  expect("PastRuns.Run.state", generation_states);
  expect("PastJobs.Job.state", job_states);
}

}  // namespace history_golden_cases
}  // namespace muster::server
