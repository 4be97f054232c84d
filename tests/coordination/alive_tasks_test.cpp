// All callers that ask about the same set get one answer.
#include "tests/coordination/fixture.hpp"

namespace muster::core::coordination {
namespace {

struct alive_rules : testing::Test {
  alive_rules() { s.enlist_all(), s.poll(0); }
  scene s{{.tasks = 3, .spec = {.shutdown_timeout = 0s}}};
  alive_tasks const& answer(call_id c) {
    return *std::get<std::shared_ptr<alive_tasks const>>(s.reply_to(c).body);
  }
  using tasks = std::vector<task_index>;
};

TEST_F(alive_rules, all_connected_tasks_must_call) {
  auto const a = s.alive(0, {0, 1, 2}), b = s.alive(1, {2, 1, 0, 1});
  EXPECT_TRUE(s.parked(a) && s.parked(b));
  auto const c = s.alive(2, {0, 1, 2});
  for (auto const call : {a, b, c}) {
    EXPECT_EQ(answer(call).tasks, (tasks{0, 1, 2}));
    EXPECT_EQ(answer(call).incarnations[1], incarnation{101});
  }
}

TEST_F(alive_rules, task_that_failed_before_is_not_awaited) {
  s.report(1, code::internal, "x");
  auto const a = s.alive(0, {0, 1});
  EXPECT_EQ(answer(a).tasks, tasks{0});
}

TEST_F(alive_rules, task_that_fails_or_leaves_during_the_wait_is_not_awaited) {
  auto const a = s.alive(0, {0, 1, 2});
  s.report(1, code::internal, "x");
  EXPECT_TRUE(s.parked(a));
  s.leave(2);
  EXPECT_EQ(answer(a).tasks, tasks{0});
}

TEST_F(alive_rules, sets_of_tasks_are_independent) {
  auto const a = s.alive(0, {0, 1});
  auto const b = s.alive(1, {0, 1, 2});
  EXPECT_TRUE(s.parked(a) && s.parked(b));
  s.alive(1, {0, 1});
  EXPECT_EQ(answer(a).tasks, (tasks{0, 1}));
  EXPECT_TRUE(s.parked(b));
}

TEST_F(alive_rules, unknown_tasks_are_not_alive_and_cannot_call) {
  EXPECT_EQ(answer(s.alive(0, {0, 77})).tasks, tasks{0});
  auto const outside = s.alive(0, {1, 2});
  EXPECT_EQ(s.code_of(outside), code::invalid_argument);
  EXPECT_FALSE(s.fault_of(outside).coordination);
  EXPECT_EQ(s.code_of(s.alive(77, {77})), code::invalid_argument);
  EXPECT_EQ(s.code_of(s.alive(0, {})), code::invalid_argument);
}

TEST_F(alive_rules, asking_twice_is_answered_twice) {
  auto const a = s.alive(0, {0, 1}), again = s.alive(0, {0, 1});
  s.alive(1, {0, 1});
  EXPECT_EQ(answer(a).tasks, (tasks{0, 1}));
  EXPECT_EQ(answer(again).tasks, (tasks{0, 1}));
}

TEST_F(alive_rules, query_of_a_disconnected_caller_is_withdrawn) {
  auto const a = s.alive(0, {0, 1}), again = s.alive(0, {0, 1});
  s.gone(a);
  s.gone(again);
  EXPECT_EQ(s.current().parked_calls(), 1u);
  auto const b = s.alive(1, {0, 1});
  EXPECT_TRUE(s.parked(b));
  s.alive(0, {0, 1});
  EXPECT_EQ(answer(b).tasks, (tasks{0, 1}));
}

TEST_F(alive_rules, task_whose_query_was_withdrawn_is_awaited_again) {
  auto const a = s.alive(0, {0, 1, 2});
  auto const b = s.alive(1, {0, 1, 2});  // now task 2 is awaited
  s.gone(a);
  auto const c = s.alive(2, {0, 1, 2});
  EXPECT_TRUE(s.parked(b) && s.parked(c)) << "task 0 no longer asks";
  s.alive(0, {0, 1, 2});
  EXPECT_EQ(answer(b).tasks, (tasks{0, 1, 2}));
}

TEST_F(alive_rules, failed_caller_is_answered_at_once) {
  s.report(1, code::internal, "x");
  EXPECT_TRUE(answer(s.alive(1, {1})).tasks.empty());
}

TEST(alive_tasks, call_of_a_dead_process_does_not_count_for_its_successor) {
  scene s({.tasks = 2, .spec = {.recoverable = true}});
  s.enlist_all();
  auto const old = s.alive(0, {0, 1});
  s.enlist(0, 200);
  EXPECT_EQ(s.code_of(old), code::cancelled);
  auto const other = s.alive(1, {0, 1});
  EXPECT_TRUE(s.parked(other));
  s.alive(0, {0, 1});
  EXPECT_EQ(s.code_of(other), code::ok);
}

}  // namespace
}  // namespace muster::core::coordination
