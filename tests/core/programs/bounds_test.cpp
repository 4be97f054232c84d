#include "tests/core/programs/fixture.hpp"

namespace muster::core::programs {
namespace {

std::string refused_for(bench& b, program_spec spec) {
  return b.step([&] { return b.core->submit(b.now, std::move(spec)); }).error().field;
}

TEST(program_bounds, duplicate_resource_and_label_names_are_rejected) {
  bench b;
  b.attach(0, {{"gpu", 4}});
  EXPECT_EQ(refused_for(b, of_workers(3, {{"gpu", 1}, {"gpu", 1}})), "tasks.worker.resources");
  auto spec = of_workers(1);
  spec.tasks[0].labels = {{"zone", "a"}, {"zone", "b"}};
  EXPECT_EQ(refused_for(b, spec), "tasks.worker.labels");
}

TEST(program_bounds, list_lengths_are_limited) {
  bench b;
  auto spec = of_workers(1);
  for (int i = 0; i < 65; ++i) spec.tasks[0].resources.emplace_back("r" + std::to_string(i), 1);
  EXPECT_EQ(refused_for(b, spec), "tasks.worker.resources");
  spec = of_workers(1);
  spec.ends_with.assign(65, "worker:0");
  EXPECT_EQ(refused_for(b, spec), "ends_with");
}

TEST(program_bounds, start_order_of_a_worker_must_fit_into_one_message) {
  bench b;
  auto spec = of_workers(1'024);
  spec.command = {std::string(100'000, 'x')};
  EXPECT_EQ(refused_for(b, spec), "command");
  spec = of_workers(8);
  spec.command = {std::string(100'000, 'x')};
  EXPECT_NE(b.submit(spec), program_id{});
}

TEST(program_bounds, worker_returning_from_a_new_address_keeps_ports_of_running_ranks) {
  bench b;
  process const was{1, 0, "host0", {}};
  auto const a = b.attach(was);
  auto const p = b.submit(of_workers(1));
  b.run(a, p, 1, {0});
  b.cut(a);
  auto moved = was;
  moved.address = "elsewhere";
  auto const again = b.attach(moved, {{{p, 1, 0}, 100, {}}});
  EXPECT_EQ(b.kept, std::vector<std::uint32_t>{0});
  b.end(again, p, 1, 0);
  EXPECT_EQ(b.state(p), program_state::succeeded);
  auto const q = b.submit(of_workers(1));
  EXPECT_EQ(b.orders(again).starts.at(0).sheet->tasks[0].address, "host0:20003") << "until then";
  b.wish(q, program_command::cancel);
}

TEST(program_bounds, stopped_program_that_lost_a_rank_is_cancelled) {
  bench b;
  auto const a = b.attach(0);
  auto const p = b.submit(of_workers(1));
  b.run(a, p, 1, {0});
  b.cut(a);
  b.wish(p, program_command::stop);
  b.advance(10s);
  EXPECT_EQ(b.state(p), program_state::cancelled);
}

TEST(program_bounds, program_waits_for_ports_in_cooldown_and_reports_it) {
  bench b;
  process const few{1, 0, "host0", {}, 20'000, 20'002};
  auto const a = b.attach(few);
  auto spec = of_workers(1);
  spec.max_restarts = 1;
  auto const p = b.submit(spec);
  b.run(a, p, 1, {0});
  b.end(a, p, 1, 0, 1);
  EXPECT_EQ(b.state(p), program_state::restarting);
  EXPECT_NE(b.find(p).waits_for.find("--program-ports"), std::string::npos) << b.find(p).waits_for;
  b.advance_in_touch(61s);
  EXPECT_EQ(b.state(p), program_state::starting);
}

TEST(program_bounds, pending_programs_are_reexamined_without_events) {
  bench b;
  b.attach(0, {{"gpu", 1}});
  for (int i = 0; i < 40; ++i) b.submit(of_workers(1, {{"gpu", 2}}));
  auto const last = b.submit(of_workers(1));
  b.advance(1s);
  EXPECT_EQ(b.state(last), program_state::starting);
}

TEST(program_bounds, pause_ends_even_behind_many_programs_that_do_not_fit) {
  bench b;
  auto const a = b.attach(0, {{"gpu", 1}});
  auto spec = of_workers(1);
  spec.max_restarts = 5;
  spec.priority = -1;
  auto const p = b.submit(spec);
  for (int i = 0; i < 40; ++i) b.submit(of_workers(1, {{"gpu", 2}}));
  for (std::uint32_t n = 1; n <= 3; ++n) {
    b.advance_in_touch(100ms);
    ASSERT_EQ(b.find(p).attempt, n);
    b.run(a, p, n, {0});
    b.end(a, p, n, 0, 1);
  }
  b.advance_in_touch(100ms);
  ASSERT_EQ(b.find(p).waits_for, "it will start again after a pause");
  EXPECT_FALSE(b.find(p).cannot_start);
  b.advance_in_touch(2s);
  EXPECT_EQ(b.find(p).attempt, 4u);
}

TEST(program_bounds, two_quick_failures_restart_at_once_and_the_third_after_a_pause) {
  bench b;
  auto const a = b.attach(0);
  auto spec = of_workers(1);
  spec.max_restarts = 5;
  auto const p = b.submit(spec);
  for (std::uint32_t n = 1; n <= 3; ++n) {
    EXPECT_EQ(b.find(p).attempt, n);
    EXPECT_EQ(b.state(p), program_state::starting);
    b.run(a, p, n, {0});
    b.end(a, p, n, 0, 1);
  }
  EXPECT_EQ(b.state(p), program_state::restarting);
  EXPECT_EQ(b.find(p).waits_for, "it will start again after a pause");
  b.advance_in_touch(1s);
  EXPECT_EQ(b.find(p).attempt, 4u);
}

TEST(program_bounds, pause_is_no_longer_after_the_clock_was_set_back) {
  bench b;
  auto spec = of_workers(1);
  spec.max_restarts = 5;
  restored_program known;
  known.submitted = {program_id{1}, std::make_shared<program_spec const>(spec), b.now + 1h};
  known.course = {.program = program_id{1},
                  .state = program_state::restarting,
                  .goal = goal::again,
                  .attempts = 3,
                  .counted_restarts = 3,
                  .quick_ends = 3,
                  .not_before = b.now + 1h + 1s};
  b.restart({known});
  b.attach(0);
  EXPECT_EQ(b.find(program_id{1}).created, b.now);
  EXPECT_EQ(b.find(program_id{1}).waits_for, "it will start again after a pause");
  b.advance_in_touch(1s);
  EXPECT_EQ(b.find(program_id{1}).attempt, 4u);
}

TEST(program_bounds, restarts_before_a_restart_of_the_server_are_counted) {
  bench b;
  auto spec = of_workers(1);
  spec.max_restarts = 2;
  restored_program known;
  known.submitted = {program_id{1}, std::make_shared<program_spec const>(spec), b.now};
  known.course = {.program = program_id{1},
                  .state = program_state::restarting,
                  .goal = goal::again,
                  .attempts = 2,
                  .counted_restarts = 2};
  b.restart({known});
  auto const w = b.attach(0);
  ASSERT_EQ(b.find(program_id{1}).attempt, 3u);
  b.run(w, program_id{1}, 3, {0});
  b.end(w, program_id{1}, 3, 0, 1);
  EXPECT_EQ(b.state(program_id{1}), program_state::failed);
}

TEST(program_bounds, pause_applies_to_a_program_that_once_lacked_room) {
  bench b;
  auto spec = of_workers(2, {{"gpu", 1}});
  spec.max_restarts = 5;
  auto const a = b.attach(0, {{"gpu", 1}});
  auto const p = b.submit(spec);
  EXPECT_NE(b.find(p).waits_for.find("room for 1 of its 2 ranks"), std::string::npos);
  auto const c = b.attach(1, {{"gpu", 1}});
  for (std::uint32_t n = 1; n <= 3; ++n) {
    b.run(a, p, n, {0});
    b.run(c, p, n, {1});
    b.end(a, p, n, 0, 1);
    b.end(c, p, n, 1, 143, true);
  }
  EXPECT_EQ(b.find(p).waits_for, "it will start again after a pause");
}

TEST(program_bounds, deadline_of_an_ended_program_is_removed) {
  bench b;
  auto spec = of_workers(1);
  spec.deadline = 1h;
  auto const p = b.submit(spec);
  EXPECT_EQ(b.core->due(), b.now + 1h);
  b.wish(p, program_command::cancel);
  EXPECT_EQ(b.core->due(), never);
}

}  // namespace
}  // namespace muster::core::programs
