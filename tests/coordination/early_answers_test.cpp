// Shortly before its deadline, a call is answered with the tasks that it waits for.
#include "tests/coordination/fixture.hpp"
#include "tests/support/text.hpp"

namespace muster::core::coordination {
namespace {

using test::contains;

TEST(early_answers, registration_names_missing_tasks_and_continues_in_the_background) {
  scene s({.tasks = 3});
  auto const a = s.enlist(0, 0, s.now() + 300s);
  s.advance(100s);
  auto const b = s.enlist(1, 0, s.now() + 300s);
  s.advance(198s);
  EXPECT_TRUE(s.parked(a));
  s.advance(1s);
  EXPECT_EQ(s.code_of(a), code::deadline_exceeded);
  EXPECT_TRUE(s.fault_of(a).coordination);
  EXPECT_TRUE(contains(s.message_of(a), "2 of 3 tasks have registered")) << s.message_of(a);
  EXPECT_TRUE(contains(s.message_of(a), "Missing 1: /job:worker/task:2 (never connected)"));
  EXPECT_TRUE(s.parked(b));
  s.enlist(2);
  EXPECT_TRUE(s.parked(b));
  s.enlist(0, 500);
  EXPECT_EQ(s.code_of(b), code::ok);
}

TEST(early_answers, a_barrier_names_address_and_last_sign_of_life) {
  scene s({.tasks = 3});
  s.enlist_all();
  s.advance(20s);
  s.beat(2);
  s.advance(10s);
  auto const a = s.barrier("step", 0, {.timeout = 1h, .deadline = s.now() + 40s});
  s.barrier("step", 1, {.timeout = 1h});
  s.advance(39s);
  EXPECT_EQ(s.code_of(a), code::deadline_exceeded);
  EXPECT_FALSE(s.fault_of(a).barrier)
      << "the instance continues: the counter of the caller must not change";
  EXPECT_TRUE(contains(s.message_of(a), "Barrier step: 2 of 3 tasks have arrived"))
      << s.message_of(a);
  EXPECT_TRUE(contains(s.message_of(a),
                       "Missing 1: /job:worker/task:2 (10.0.0.2:4711, last contact 49.0 s ago)"));
  s.barrier("step", 2, {.timeout = 1h});
  EXPECT_EQ(s.code_of(s.barrier("step", 0, {.timeout = 1h})), code::ok) << "it can call again";
}

TEST(early_answers, callers_that_time_out_together_do_not_report_each_other_missing) {
  scene s({.tasks = 5});
  s.enlist_all();
  std::vector<call_id> calls;
  for (task_index t = 0; t < 4; ++t)
    calls.push_back(s.barrier("b", t, {.timeout = 1h, .deadline = s.now() + 40s}));
  s.advance(40s);
  for (auto const call : calls) {
    EXPECT_TRUE(contains(s.message_of(call), "4 of 5 tasks have arrived")) << s.message_of(call);
    EXPECT_TRUE(contains(s.message_of(call), "Missing 1: /job:worker/task:4"));
  }
}

TEST(early_answers, shutdown_names_the_tasks_that_have_not_called) {
  scene s;
  s.enlist_all();
  auto const a = s.leave(0, s.now() + 20s);
  s.advance(20s);
  EXPECT_EQ(s.code_of(a), code::deadline_exceeded);
  EXPECT_TRUE(contains(s.message_of(a), "Missing 1: /job:worker/task:1")) << s.message_of(a);
}

TEST(early_answers, wait_for_a_key_names_disconnected_tasks) {
  scene s({.tasks = 4, .spec = {.register_barrier = false}});
  s.enlist(0), s.enlist(2);
  auto const a = s.get("a/b", s.now() + 10s);
  s.advance(10s);
  EXPECT_EQ(s.code_of(a), code::deadline_exceeded);
  EXPECT_TRUE(contains(s.message_of(a), "Key a/b has not been set after 9.5 s")) << s.message_of(a);
  EXPECT_TRUE(contains(s.message_of(a), "Not connected: /job:worker/task:1,3"));
  EXPECT_EQ(s.current().parked_calls(), 0u);
}

TEST(early_answers, short_waits_still_wait_and_unsatisfiable_ones_end_at_once) {
  scene s;
  auto const brief = s.get("k", s.now() + 20ms);
  s.advance(9ms);
  EXPECT_TRUE(s.parked(brief));
  s.advance(2ms);
  EXPECT_EQ(s.code_of(brief), code::deadline_exceeded);
  for (auto const deadline : {time_point::min(), time_point{}, s.now() - 1h, s.now()}) {
    auto const late = s.get("k", deadline);
    s.advance(0s);
    EXPECT_EQ(s.code_of(late), code::deadline_exceeded);
  }
  s.enlist_all();
  s.get("k", s.now() - 24h);
  s.advance(100s);
  EXPECT_EQ(s.state_of(0), agent_state::error) << "a call from the past forgives no silence";
}

TEST(early_answers, name_all_of_ten_thousand_or_as_many_as_fit) {
  constexpr task_index n = 10'000;
  scene s({.tasks = n});
  auto const a = s.enlist(0, 0, s.now() + 10s);
  s.enlist(5'000);
  s.advance(10s);
  auto const& text = s.message_of(a);
  EXPECT_TRUE(contains(text, "Missing 9998: /job:worker/task:1-4999,5001-9999")) << text;
  EXPECT_TRUE(contains(text, "Of these: /job:worker/task:1 (never connected)"));
  EXPECT_LE(text.size(), message_bytes_max);
}

TEST(early_answers, every_second_of_ten_thousand_still_fits) {
  constexpr task_index n = 10'000;
  scene s({.tasks = n, .spec = {.register_barrier = false}});
  s.checks_each_step = false;
  s.enlist_all();
  std::vector<call_id> calls;
  calls.push_back(s.barrier("b", 0, {.timeout = 50s}));
  for (task_index t = 2; t < 200; t += 2) s.barrier("b", t, {.timeout = 50s});
  s.advance(50s);
  auto const& text = s.message_of(calls[0]);
  EXPECT_TRUE(contains(text, "Missing 9900: /job:worker/task:1,3,5,")) << text;
  EXPECT_TRUE(
      contains(text, "Of these: /job:worker/task:1 (10.0.0.1:4711, last contact 50.0 s ago)"))
      << text;
  EXPECT_LE(text.size(), message_bytes_max);
}

}  // namespace
}  // namespace muster::core::coordination
