#include "server/history/store/records.hpp"

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include "muster/journal/v1/history.pb.h"

namespace muster::server {
namespace {

using namespace std::chrono_literals;

constexpr core::time_point some_noon = core::time_point(std::chrono::hours(480'000));

TEST(history_records, events_are_restored) {
  using core::coordination::severity;
  std::vector<event> const some{
      {7, some_noon, {severity::error, "task_lost", "train", "worker:1", "gone"}},
      {8, some_noon + 1ms, {severity::info, "started", {}, {}, "\x1b[1m"}}};
  auto const back = events_from(encoded(some));
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[0].at, some_noon);
  EXPECT_EQ(back[0].what.severity, severity::error);
  EXPECT_EQ(back[0].what.kind, "task_lost");
  EXPECT_EQ(back[0].what.cluster, "train");
  EXPECT_EQ(back[0].what.subject, "worker:1");
  EXPECT_EQ(back[0].what.text, "gone");
  EXPECT_EQ(back[1].at, some_noon + 1ms);
}

TEST(history_records, points_are_restored) {
  chart_point const p{2, some_noon, {1, 2, 3, 4, 5, 6, 7, 8, 9}};
  EXPECT_EQ(point_from(encoded(p)), p);
}

TEST(history_records, machines_are_restored) {
  auto const back = machines_from(encoded(
      std::vector<recorded_machine>{{"train", "worker:1", "node", {5, 1, 2, 3, 4, 6, 7, 8, 9}}}));
  ASSERT_EQ(back.size(), 1u);
  EXPECT_EQ(back[0].cluster, "train");
  EXPECT_EQ(back[0].task, "worker:1");
  EXPECT_EQ(back[0].host, "node");
  EXPECT_EQ(back[0].sample.at, 5u);
  EXPECT_EQ(back[0].sample.cpu, 1);
  EXPECT_EQ(back[0].sample.gpu_memory, 4);
  EXPECT_EQ(back[0].sample.written, 9);
}

TEST(history_records, lines_are_restored) {
  auto const worker = std::make_shared<std::string const>("worker:3");
  log_line line;
  line.at = some_noon;
  line.closure = core::closure_id{7};
  line.index = 4;
  line.attempt = 2;
  line.level = log_level::standard_error;
  line.text = "\xff no UTF-8";
  line.worker = worker;
  auto const back = lines_from(encoded(recorded_lines{"train", {{core::session_id{9}, line}}}));
  EXPECT_EQ(back.cluster, "train");
  ASSERT_EQ(back.lines.size(), 1u);
  auto const& [job, found] = back.lines[0];
  EXPECT_EQ(job, core::session_id{9});
  EXPECT_EQ(found.at, line.at);
  EXPECT_EQ(found.closure, line.closure);
  EXPECT_EQ(found.index, 4u);
  EXPECT_EQ(found.attempt, 2u);
  EXPECT_EQ(found.level, line.level);
  EXPECT_EQ(found.text, line.text);
  EXPECT_EQ(*found.worker, "worker:3");
}

TEST(history_records, only_lines_of_requested_jobs_are_read) {
  recorded_lines all{"train", {}};
  for (std::uint64_t job : {9, 9, 7, 8})
    all.lines.emplace_back(core::session_id{job}, log_line{}).second.text = std::to_string(job);
  auto const bytes = encoded(all);
  auto const texts = [&bytes](std::uint64_t wanted) {
    std::string found;
    auto const is_wanted = [wanted](core::session_id j) { return j == core::session_id{wanted}; };
    auto const back = lines_from(bytes, nullptr, is_wanted);
    for (auto const& [job, line] : back.lines) found += line.text;
    return found;
  };
  EXPECT_EQ(texts(9), "99");
  EXPECT_EQ(texts(8), "8");
  EXPECT_EQ(texts(6), "");
  EXPECT_EQ(lines_from(bytes).lines.size(), 4u);
  for (std::size_t n = 0; n < bytes.size(); ++n)  // truncated
    (void)lines_from(std::string_view(bytes).substr(0, n), nullptr, [](auto) { return false; });
}

struct history_records_of_spans : testing::Test {
  core::config settings;
  core::server_wide wide{some_noon};
  history::history was{settings, wide, some_noon}, is{settings, wide, some_noon};

  void add(std::string function, core::duration after, std::uint64_t closure, std::uint32_t count) {
    history::recorded_span s{{"worker", closure % 2}, {function, "served", "hash", true}, {}};
    s.what.started = some_noon + after;
    s.what.lasted = 70ms;
    s.what.busy = closure ? 70ms : 50ms;
    s.what.closure = core::closure_id{closure};
    s.what.count = count;
    s.what.failed = s.what.closure == core::closure_id{} ? 3 : 0;
    s.what.state = s.what.failed ? core::span_state::failed : core::span_state::succeeded;
    was.restore(s);
  }
};

TEST_F(history_records_of_spans, are_restored) {
  add("f", 0s, 8, 1);
  add("g", 10s, 9, 1);
  add("f", 5s, 11, 1);
  add({}, 12s, 0, 40);
  auto const page = was.activity().spans({}, 0, {}, some_noon + 1h);
  ASSERT_EQ(page.spans.size(), 4u);
  auto const back = spans_from(encoded("train", page, was.named()));
  EXPECT_EQ(back.cluster, "train");
  for (auto const& s : back.spans) is.restore(s);
  auto const again = is.activity().spans({}, 0, {}, some_noon + 1h);
  EXPECT_EQ(again.spans, page.spans);
  EXPECT_EQ(is.named()[again.spans[0].function], was.named()[page.spans[0].function]);
}

// Protobuf rejects a whole message with one invalid UTF-8 `string`.
TEST_F(history_records_of_spans, keep_a_hash_of_raw_bytes) {
  history::recorded_span s{
      {"worker", 1}, {"f", "python:3.11", std::string("\xff\x00\xfe", 3), true}, {}};
  s.what.started = some_noon;
  s.what.closure = core::closure_id{8};
  s.what.count = 1;
  was.restore(s);
  auto const page = was.activity().spans({}, 0, {}, some_noon + 1h);
  std::size_t unreadable = 0;
  auto const back = spans_from(encoded("train", page, was.named()), &unreadable);
  ASSERT_EQ(back.spans.size(), 1u);
  EXPECT_EQ(back.spans[0].function, s.function);
  EXPECT_EQ(unreadable, 0u);
}

// Sums of such times would overflow.
TEST_F(history_records_of_spans, with_impossible_times_are_omitted) {
  constexpr core::duration longest(std::int64_t{1} << 56);
  add("f", 0s, 8, 1);
  auto page = was.activity().spans({}, 0, {}, some_noon + 1h);
  ASSERT_EQ(page.spans.size(), 1u);
  auto const read_with = [&](core::duration since, core::duration lasted) {
    page.spans[0].started = core::time_point(since);
    page.spans[0].lasted = lasted;
    std::size_t unreadable = 0;
    auto const back = spans_from(encoded("train", page, was.named()), &unreadable);
    EXPECT_EQ(back.spans.size() + unreadable, 1u);
    return unreadable;
  };
  EXPECT_EQ(read_with(longest, 1s), 0u);
  EXPECT_EQ(read_with(longest + core::duration(1), 1s), 1u);
  EXPECT_EQ(read_with(-longest - core::duration(1), 1s), 1u);
  EXPECT_EQ(read_with(core::duration::max(), core::duration::max()), 1u);
  EXPECT_EQ(read_with(1s, longest + core::duration(1)), 1u);
}

TEST(history_records, have_no_field_of_the_type_string) {
  auto const* const file = journal::v1::PastSpans::descriptor()->file();
  std::vector<google::protobuf::Descriptor const*> all;
  for (int i = 0; i < file->message_type_count(); ++i) all.push_back(file->message_type(i));
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (int n = 0; n < all[i]->nested_type_count(); ++n) all.push_back(all[i]->nested_type(n));
    for (int f = 0; f < all[i]->field_count(); ++f)
      EXPECT_NE(all[i]->field(f)->type(), google::protobuf::FieldDescriptor::TYPE_STRING)
          << all[i]->field(f)->full_name() << ": other programs' text need not be UTF-8";
  }
  EXPECT_EQ(all.size(), 15u);
}

TEST(history_records, keep_text_that_is_not_utf8) {
  std::string const odd = "caf\xe9 \xff\xfe";
  auto const events =
      events_from(encoded(std::vector<event>{{1, some_noon, {{}, odd, odd, odd, odd}}}));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].what.text, odd);
  auto const machines = machines_from(encoded(std::vector<recorded_machine>{{odd, odd, odd, {}}}));
  ASSERT_EQ(machines.size(), 1u);
  EXPECT_EQ(machines[0].host, odd);
  recorded_run run{odd, {}};
  run.run.cause = core::coordination::first_cause{odd, odd, odd, some_noon};
  auto const runs = runs_from(encoded(std::vector{run}));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].run.cause, run.run.cause);
  core::job_view job;
  job.name = job.cluster = job.client = job.metadata = job.submitted_by = odd;
  job.error.emplace().message = odd;
  auto const jobs = jobs_from(encoded(std::vector{job}));
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].error->message, odd);
}

TEST(history_records, lose_only_the_rows_that_are_damaged) {
  std::vector<event> const some{{1, some_noon, {{}, "a", {}, {}, "first"}},
                                {2, some_noon, {{}, "b", {}, {}, "second"}},
                                {3, some_noon, {{}, "c", {}, {}, "third"}}};
  auto bytes = encoded(some);
  std::size_t unreadable = 0;
  bytes[bytes.find("second") - 1] = '\x7f';  // the length of the text
  auto const back = events_from(bytes, &unreadable);
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[1].what.text, "third");
  EXPECT_EQ(unreadable, 1u);
  auto const cut = encoded(some);
  unreadable = 0;
  EXPECT_EQ(events_from(cut.substr(0, cut.size() - 3), &unreadable).size(), 2u);
  EXPECT_EQ(unreadable, 1u);
}

TEST(history_records, unreadable_records_are_counted) {
  for (auto const* const bytes : {"\xff\xff\xff", "nonsense"}) {
    std::size_t n = 0;
    (void)events_from(bytes, &n);
    (void)point_from(bytes, &n);
    (void)machines_from(bytes, &n);
    (void)spans_from(bytes, &n);
    (void)lines_from(bytes, &n);
    (void)runs_from(bytes, &n);
    (void)jobs_from(bytes, &n);
    (void)steps_from(bytes, &n);
    EXPECT_EQ(n, 8u) << bytes;
  }
}

TEST(history_records, unreadable_records_yield_nothing) {
  for (std::string const bytes : {"\xff\xff\xff", "nonsense", ""}) {
    EXPECT_TRUE(events_from(bytes).empty());
    EXPECT_TRUE(machines_from(bytes).empty());
    EXPECT_TRUE(lines_from(bytes).lines.empty());
    EXPECT_TRUE(spans_from(bytes).spans.empty());
    EXPECT_EQ(point_from(bytes).at, core::time_point{});
  }
}

TEST(history_records, runs_are_restored) {
  recorded_run r{"train", {}};
  r.run.number = 7;
  r.run.incarnation = core::incarnation{9};
  r.run.state = core::coordination::generation_state::failed;
  r.run.started = some_noon;
  r.run.ended = some_noon + 1s;
  r.run.cause = core::coordination::first_cause{"worker:1", "10.0.0.1:1", "ECC error", some_noon};
  r.run.by_health = {1, 2, 3, 4, 5, 6};
  r.run.keys = 3;
  r.run.key_bytes = 30;
  r.run.barriers_remembered = 2;
  auto const back = runs_from(encoded(std::vector{r, recorded_run{"other", {}}}));
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[0].cluster, "train");
  auto const& g = back[0].run;
  EXPECT_EQ(g.number, 7u);
  EXPECT_EQ(g.incarnation, core::incarnation{9});
  EXPECT_EQ(g.state, core::coordination::generation_state::failed);
  EXPECT_EQ(g.started, some_noon);
  EXPECT_EQ(g.ended, some_noon + 1s);
  EXPECT_EQ(g.cause, r.run.cause);
  EXPECT_EQ(g.by_health, r.run.by_health);
  EXPECT_EQ(g.keys, 3u);
  EXPECT_EQ(g.key_bytes, 30u);
  EXPECT_EQ(g.barriers_remembered, 2u);
  EXPECT_FALSE(back[1].run.cause);
  EXPECT_TRUE(runs_from("nonsense").empty());
}

TEST(history_records, jobs_are_restored) {
  core::job_view j;
  j.id = core::session_id{7};
  j.cluster = "train";
  j.name = "sweep";
  j.state = core::job_state::cancelled;
  j.created = some_noon;
  j.finished = some_noon + 1s;
  j.streaming = true;
  j.submitted_by = "tok_1";
  j.client = "10.0.0.1";
  j.metadata = R"({"a":1})";
  j.counts.succeeded = 1;
  j.counts.failed = 2;
  j.counts.cancelled = 3;
  j.retried = 4;
  j.requeued = 5;
  j.error.emplace().message = "no such column";
  auto long_one = j;
  long_one.metadata = "\"" + std::string(5'000, 'x') + "\"";
  auto const back = jobs_from(encoded(std::vector{j, long_one}));
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[0].id, j.id);
  EXPECT_EQ(back[0].cluster, "train");
  EXPECT_EQ(back[0].name, "sweep");
  EXPECT_EQ(back[0].state, core::job_state::cancelled);
  EXPECT_EQ(back[0].created, some_noon);
  EXPECT_EQ(back[0].finished, some_noon + 1s);
  EXPECT_TRUE(back[0].streaming);
  EXPECT_EQ(back[0].submitted_by, "tok_1");
  EXPECT_EQ(back[0].client, "10.0.0.1");
  EXPECT_EQ(back[0].metadata, j.metadata);
  EXPECT_EQ(back[0].counts, j.counts);
  EXPECT_EQ(back[0].retried, 4u);
  EXPECT_EQ(back[0].requeued, 5u);
  EXPECT_EQ(back[0].error->message, "no such column");
  EXPECT_EQ(back[1].metadata, "") << "too long to be kept";
  EXPECT_TRUE(jobs_from("nonsense").empty());
}

TEST(past_steps, are_restored_unchanged) {
  doctor::step_segment const s{core::program_id{7}, 2,  some_noon, some_noon - 2s,
                               some_noon - 1s,      11, "packed"};
  EXPECT_EQ(steps_from(encoded(s)), s);
  EXPECT_EQ(steps_from("nonsense"), doctor::step_segment{});
}

}  // namespace
}  // namespace muster::server
