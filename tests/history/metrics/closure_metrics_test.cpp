#include "server/history/metrics/closure_meter.hpp"
#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

using namespace std::chrono_literals;
using history::histogram;

std::vector<std::pair<std::size_t, std::uint64_t>> filled(histogram const& h) {
  std::vector<std::pair<std::size_t, std::uint64_t>> out;
  for (std::size_t n = 0; n <= histogram::buckets; ++n)
    if (h.in(n) > 0) out.emplace_back(n, h.in(n));
  return out;
}
using buckets = std::vector<std::pair<std::size_t, std::uint64_t>>;

TEST(histogram, limit_belongs_to_its_bucket_and_longer_durations_to_the_next) {
  for (std::size_t n = 0; n < histogram::buckets; ++n) {
    histogram h;
    h.add(histogram::limit(n));
    h.add(histogram::limit(n) + 1us);
    EXPECT_EQ(filled(h), (buckets{{n, 1}, {n + 1, 1}}));
  }
  EXPECT_EQ(histogram::limit(0), 4us);
  EXPECT_EQ(histogram::limit(1), 5us);
  EXPECT_EQ(histogram::limit(histogram::first_exported), 64us);
  EXPECT_EQ(histogram::limit(18 * histogram::an_octave), 1'048'576us);
  EXPECT_EQ(histogram::limit(histogram::buckets - 1), 64us * (1 << 30));
}

TEST(histogram, zero_and_negative_durations_are_in_the_first_bucket) {
  histogram h;
  h.add(0us);
  h.add(-5s);
  h.add(duration::max());
  EXPECT_EQ(filled(h), (buckets{{0, 2}, {histogram::buckets, 1}}));
  EXPECT_EQ(h.count(), 3u);
}

TEST(histogram, bucket_contains_the_sum_of_its_durations) {
  histogram h, more;
  h.add(300s);
  h.add(306s);
  more.add(301s);
  h += more;
  ASSERT_EQ(filled(h).size(), 1u);
  EXPECT_EQ(h.sum_in(filled(h)[0].first), 907s);
  EXPECT_EQ(h.sum(), 907s);
}

TEST(metrics, cover_a_closure_that_waits_runs_and_succeeds) {
  cluster c;
  auto const job = c.open({"f"});
  c.wait(2s);
  auto const w = c.attach();
  c.wait(300ms);
  c.succeed(w, job[0]);
  auto const& m = c.past.metrics();
  EXPECT_EQ(m.queue_wait.sum(), 2s);
  EXPECT_EQ(filled(m.queue_wait), (buckets{{76, 1}}));
  EXPECT_EQ(m.execution.sum(), 300ms);
  EXPECT_EQ(m.total.sum(), 2300ms);
  EXPECT_EQ(m.total.count(), 1u);
  EXPECT_EQ(m.worker_failures, 0u);
  EXPECT_EQ(m.recovery.count(), 0u);
}

TEST(metrics, each_attempt_waits_and_the_recovery_of_its_task_is_timed) {
  cluster c;
  auto const first = c.attach({.index = 3});
  auto const job = c.open({"f"});
  c.wait(1s);
  c.lose(first);
  EXPECT_EQ(c.past.metrics().worker_failures, 1u);
  c.wait(4s);
  auto const again = c.attach({.index = 3});
  c.wait(1s);
  c.succeed(again, job[0]);
  auto const& m = c.past.metrics();
  EXPECT_EQ(m.recovery.count(), 1u);
  EXPECT_EQ(m.recovery.sum(), 4s);
  EXPECT_EQ(m.queue_wait.count(), 2u);
  EXPECT_EQ(m.queue_wait.sum(), 4s);
  EXPECT_EQ(m.execution.count(), 1u);  // the lost attempt was never answered
  EXPECT_EQ(m.total.sum(), 6s);
}

TEST(metrics, clean_disconnect_counts_neither_as_failure_nor_as_recovery) {
  cluster c;
  c.leave(c.attach({.index = 3}));
  c.wait(1s);
  c.attach({.index = 3});
  EXPECT_EQ(c.past.metrics().worker_failures, 0u);
  EXPECT_EQ(c.past.metrics().recovery.count(), 0u);
}

TEST(metrics, delay_is_not_counted_as_queue_wait) {
  cluster c;
  auto specs = c.specs({"f"});
  auto extras = std::make_shared<closure_extras>();
  extras->options.delay = 10s;
  specs[0].extras = extras;
  c.open_with(std::move(specs));
  c.advance(11s);
  c.attach();
  EXPECT_EQ(c.past.metrics().queue_wait.sum(), 1s);
}

TEST(metrics, cancelled_closures_are_counted_and_stop_requests_too) {
  cluster c;
  auto const w = c.attach({.slots = 1, .credits = 1});
  auto const job = c.open({"f", "f"});
  c.wait(1s);
  c.ask(cancel_session{{}, job.id});
  EXPECT_EQ(c.past.metrics().stop_requests, 1u);
  EXPECT_EQ(c.past.metrics().total.count(), 1u);
  c.answer(w, {c.bad(w, job[0], "stopped", failure_kind::cancelled)});
  EXPECT_EQ(c.past.metrics().total.count(), 2u);
}

TEST(metrics, value_wait_is_counted) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open({"f"});
  c.park(await_value{{}, job[0], never});
  c.wait(2s);
  c.succeed(w, job[0]);
  EXPECT_EQ(c.past.metrics().value_wait.sum(), 2s);
  c.wait(2s);
  c.ask(await_value{{}, job[0], never});
  EXPECT_EQ(c.past.metrics().value_wait.count(), 2u);
  EXPECT_EQ(c.past.metrics().value_wait.sum(), 2s);
}

TEST(metrics, time_with_a_full_queue_is_counted) {
  cluster c;
  session_spec spec;
  spec.queue_capacity = 4;
  auto const s = c.stream(spec);
  c.schedule(s, {"f", "f", "f", "f"});
  auto const begun = c.now();
  EXPECT_EQ(c.past.metrics().full_since, begun);
  auto const other = c.stream(spec);
  c.wait(1s);
  c.schedule(other, {"f", "f", "f", "f"});  // at the same time: counted once
  c.wait(2s);
  auto const w = c.attach({.slots = 8, .credits = 8});
  while (!c.held(w).empty()) c.succeed(w, c.held(w).front());
  EXPECT_EQ(c.past.metrics().full_since, never);
  EXPECT_EQ(c.past.metrics().full, 3s);
}

effects told(changes c) {
  effects fx;
  fx.changes = std::move(c);
  return fx;
}

TEST(metrics, restored_events_are_not_counted_again) {
  history::closure_meter m;
  changes c;
  for (auto const id : {1, 2}) {
    auto& e = c.ended.emplace_back();
    e.of.closure = closure_id{static_cast<std::uint64_t>(id)};
    e.of.created = start;
    e.of.finished = start + 5s;
    e.restored = id == 1;
    c.values.push_back({e.of.closure, value_place::gone, release_reason::age});
  }
  m.fold(told(std::move(c)), start);
  EXPECT_EQ(m.metrics().total.count(), 1u);
  EXPECT_EQ(m.metrics().values_dropped[static_cast<std::size_t>(release_reason::age)], 1u);
}

TEST(metrics, a_task_that_was_replaced_within_a_step_was_lost_and_did_not_recover) {
  history::closure_meter m;
  changes c;
  auto const is = [&](task_state s, time_point since) {
    task_changed t;
    t.job = "worker";
    t.state = s;
    t.since = since;
    c.tasks.push_back(t);
  };
  is(task_state::error, start);
  is(task_state::connected, start);
  m.fold(told(std::exchange(c, {})), start);
  EXPECT_EQ(m.metrics().worker_failures, 1u);
  EXPECT_EQ(m.metrics().recovery.count(), 0u);
  is(task_state::error, start + 1s);
  m.fold(told(std::exchange(c, {})), start + 1s);
  is(task_state::error, start + 1s);  // given up
  m.fold(told(std::exchange(c, {})), start + 2s);
  is(task_state::connected, start + 4s);
  m.fold(told(std::exchange(c, {})), start + 4s);
  EXPECT_EQ(m.metrics().worker_failures, 2u);
  EXPECT_EQ(m.metrics().recovery.sum(), 3s);
}

TEST(metrics, values_removed_with_a_job_are_dropped_unless_requested) {
  history::closure_meter m;
  changes c;
  c.sessions_released = {{session_id{1}, release_reason::jobs, 3},
                         {session_id{2}, release_reason::job_deleted, 5},
                         {session_id{3}, release_reason::session_end, 7}};
  m.fold(told(std::move(c)), start);
  for (std::size_t why = 0; why < enum_size<release_reason>; ++why)
    EXPECT_EQ(m.metrics().values_dropped[why],
              why == static_cast<std::size_t>(release_reason::jobs) ? 3u : 0u);
}

TEST(metrics, the_time_of_a_full_queue_ends_with_its_session) {
  history::closure_meter m;
  changes c;
  c.sessions.emplace_back().full = true;
  m.fold(told(std::exchange(c, {})), start);
  c.sessions_released.emplace_back();
  m.fold(told(std::exchange(c, {})), start + 3s);
  EXPECT_EQ(m.metrics().full, 3s);
  EXPECT_EQ(m.invalid(), "");
}

TEST(metrics, repeated_stop_request_of_a_returning_worker_is_not_counted) {
  history::closure_meter m;
  effects fx;
  fx.stop_requests.emplace_back();
  m.fold(fx, start);
  fx.welcomes.emplace_back();
  m.fold(fx, start);
  EXPECT_EQ(m.metrics().stop_requests, 1u);
}

}  // namespace
}  // namespace muster::core
