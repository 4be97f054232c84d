#include <gtest/gtest.h>

#include "server/history/activity/activity_pages.hpp"
#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

using states = std::vector<span_state>;

std::vector<span_view> spans(cluster& c, activity_filter const& f = {}) {
  return history::spans(c.past, f, 0, 1'000, c.now() + 1s).spans;
}
states states_of(cluster& c) {
  states all;
  for (auto const& b : spans(c)) all.push_back(b.state);
  return all;
}

TEST(recording, an_answer_is_a_bar_from_its_true_start) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open({"f"});
  c.wait(500ms);
  auto r = c.good(w, job[0]);
  r.execution = 200ms;
  c.answer(w, {r});
  auto const page = history::spans(c.past, {}, 0, 1'000, c.now() + 1s);
  ASSERT_EQ(page.spans.size(), 1u);
  EXPECT_EQ(page.spans[0].started, c.now() - 200ms);
  EXPECT_EQ(page.spans[0].lasted, 200ms);
  EXPECT_EQ(page.spans[0].closure, job[0]);
  EXPECT_EQ(page.spans[0].job, job.id);
  EXPECT_EQ(page.spans[0].state, span_state::succeeded);
  ASSERT_EQ(page.names.lanes.size(), 1u);
  EXPECT_EQ(page.names.lanes[0].job, "worker");
  EXPECT_EQ(page.names.lanes[0].index, 0);
  ASSERT_EQ(page.names.functions.size(), 1u);
  EXPECT_EQ(page.names.functions[0].second, "f");
  EXPECT_EQ(page.complete_since, start);
  EXPECT_TRUE(page.all);
}

// Attaches a worker; quick answers widen its window to six.
stream_id quick_worker(cluster& c, std::uint32_t slots) {
  auto const w = c.attach({.slots = slots, .credits = 8});
  c.open(names(20, "f"));
  while (c.held(w).size() < 6) c.succeed(w, c.held(w).at(0));
  return w;
}

// Returns how long ago each closure ended.
std::vector<duration> ends_ago(cluster& c, stream_id w, closures const& answered, duration each) {
  std::vector<worker_result> message;
  for (auto const id : answered) {
    message.push_back(c.good(w, id));
    message.back().execution = each;
  }
  c.answer(w, std::move(message));
  std::vector<duration> all;
  for (auto const& b : spans(c)) {
    if (b.closure == closure_id{}) continue;
    EXPECT_EQ(b.lasted, each);
    all.push_back(c.now() - b.started - b.lasted);
  }
  return all;
}

TEST(recording, results_of_one_message_are_consecutive_on_the_slots) {
  cluster c;
  auto const w = quick_worker(c, 2);
  auto held = c.held(w);
  held.resize(5);
  c.wait(100ms);
  EXPECT_EQ(ends_ago(c, w, held, 10ms), (std::vector<duration>{20ms, 10ms, 10ms, 0ms, 0ms}));
}

TEST(recording, slot_of_a_running_closure_is_not_shared) {
  cluster c;
  auto const w = quick_worker(c, 2);
  auto const held = c.held(w);
  c.wait(100ms);
  EXPECT_EQ(ends_ago(c, w, {held[1], held[2]}, 10ms), (std::vector<duration>{10ms, 0ms}));
}

TEST(recording, bar_starts_no_earlier_than_its_dispatch) {
  cluster c;
  auto const w = quick_worker(c, 1);
  auto held = c.held(w);
  held.resize(2);
  c.wait(15ms);
  EXPECT_EQ(ends_ago(c, w, held, 10ms), (std::vector<duration>{5ms, 0ms}));
}

TEST(recording, failed_and_cancelled_closures_are_marked) {
  cluster c;
  auto const w = c.attach({.slots = 2, .credits = 2});
  auto const job = c.open({"f", "f"}, continue_all());
  c.wait(10ms);
  c.fail(w, job[0]);
  cancel_session stop;
  stop.session = job.id;
  c.ask(stop);
  c.fail(w, job[1], "stopped", failure_kind::cancelled);
  EXPECT_EQ(states_of(c), (states{span_state::failed, span_state::cancelled}));
}

TEST(recording, each_attempt_is_a_bar) {
  cluster c;
  auto const w = c.attach();
  auto work = c.specs({"f"});
  closure_extras x;
  x.options.max_retries = 1;
  work[0].extras = std::make_shared<closure_extras const>(x);
  auto const job = c.open_with(std::move(work));
  c.wait(10ms);
  c.fail(w, job[0]);
  c.wait(5s);
  c.tick();
  c.wait(10ms);
  c.succeed(w, job[0]);
  EXPECT_EQ(states_of(c), (states{span_state::failed, span_state::succeeded}));
}

TEST(recording, running_closure_of_a_lost_worker_is_lost_and_prefetched_ones_are_absent) {
  cluster c;
  auto const w = c.attach({.slots = 1, .credits = 4, .incarnation = 5});
  auto const job = c.open({"f", "f", "f"});
  c.wait(10ms);
  ASSERT_FALSE(c.held(w).empty());
  c.lose(w);
  EXPECT_EQ(states_of(c), (states{span_state::lost}));
  EXPECT_EQ(spans(c).at(0).closure, job[0]);
}

TEST(recording, any_number_of_short_closures_is_one_bar) {
  cluster c;
  auto const w = c.attach({.slots = 4, .credits = 4});
  auto const job = c.open({"f", "f", "f"}, continue_all());
  c.wait(50us);
  c.answer(w, {c.good(w, job[0]), c.good(w, job[1]), c.bad(w, job[2])});
  auto const all = spans(c);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].count, 3u);
  EXPECT_EQ(all[0].failed, 1u);
  EXPECT_EQ(all[0].busy, 150us);
  EXPECT_EQ(all[0].job, session_id{}) << "they may be of several";
}

TEST(recording, builders_of_per_worker_values_execute_too) {
  cluster c;
  auto const w = c.attach();
  create_per_worker e;
  e.function = c.function("f");
  auto const made = c.ask(e);
  c.wait(10ms);
  auto const held = c.held(w);
  ASSERT_EQ(held.size(), 1u);
  c.succeed(w, held[0]);
  ASSERT_EQ(spans(c).size(), 1u);
  EXPECT_EQ(spans(c)[0].job, session_id{});
}

TEST(recording, running_closures_are_shown_by_lane_and_job) {
  cluster c;
  c.attach({.index = 3});
  c.attach({.index = 4});
  auto const one = c.open({"f"});
  c.wait(1s);
  auto const other = c.open({"f"});
  auto const page = history::running(c.past, c.core, {}, {});
  EXPECT_FALSE(page.next);
  ASSERT_EQ(page.running.size(), 2u);
  EXPECT_EQ(page.names.lanes.size(), 2u);
  EXPECT_EQ(page.names.functions.at(0).second, "f");
  activity_filter f;
  f.job = other.id;
  auto const its = history::running(c.past, c.core, f, {});
  ASSERT_EQ(its.running.size(), 1u);
  EXPECT_EQ(its.running[0].closure, other[0]);
  EXPECT_EQ(its.running[0].started, c.now());
  f = {};
  f.lanes = {{"worker", 4}, {"worker", 9}};
  EXPECT_EQ(history::running(c.past, c.core, f, {}).running.size(), 1u);
}

TEST(recording, minutes_include_running_closures) {
  cluster c;
  auto const w = c.attach();
  c.open({"f"});
  for (int i = 0; i < 9; ++i) {
    c.wait(10s);
    c.alive(w);
  }
  auto const page = history::minutes(c.past, c.core, {}, {}, c.now());
  duration busy{};
  for (auto const& m : page.minutes) {
    busy += m.busy;
    EXPECT_LE(m.busy, 60s);
    EXPECT_EQ(m.count, 0u);
  }
  EXPECT_EQ(busy, 90s);
  EXPECT_EQ(page.names.lanes.size(), 1u);
}

}  // namespace
}  // namespace muster::core
