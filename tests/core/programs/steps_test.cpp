#include "tests/core/programs/fixture.hpp"

namespace muster::core::programs {
namespace {

using enum program_state;
using said = program_steps_reported::kind;

struct stepping : bench {
  stream_id a = attach(0), c = attach(1);
  program_id p;
  explicit stepping(program_spec spec = of_workers(2)) : p(submit(std::move(spec))) {
    run(a, p, 1, {0});
    run(c, p, 1, {1});
    say(said::some);
    clear();
  }
  void say(said what, std::uint32_t attempt = 1) {
    step([&] { core->steps_reported(now, {p, attempt, what, "worker:1 leaves"}); });
  }
  void clear() { sent.clear(); }
  std::vector<rank_orders::stop> stops(stream_id s) {
    std::vector<rank_orders::stop> all;
    for (auto const& o : sent[s]) all.insert(all.end(), o.stops.begin(), o.stops.end());
    return all;
  }
};

TEST(program_steps, preempted_attempt_ends_by_itself_and_the_program_restarts) {
  stepping b;
  b.say(said::preempted);
  EXPECT_EQ(b.state(b.p), restarting);
  EXPECT_TRUE(b.stops(b.a).empty()) << "no signal is sent";
  b.end(b.a, b.p, 1, 0);
  EXPECT_TRUE(b.stops(b.c).empty());
  b.end(b.c, b.p, 1, 1);
  EXPECT_EQ(b.state(b.p), starting) << "it starts at once";
  auto const attempts = *b.core->attempts_of(b.p);
  ASSERT_EQ(attempts.size(), 2u);
  EXPECT_EQ(attempts[0].end, program_end::preempted);
  EXPECT_EQ(attempts[0].cause->kind, cause_kind::worker_left);
  EXPECT_EQ(attempts[0].cause->text, "worker:1 leaves");
  EXPECT_EQ(b.find(b.p).restarts, 0u) << "it is not counted";
}

TEST(program_steps, ranks_of_a_preempted_attempt_are_stopped_when_one_fails) {
  stepping b;
  b.say(said::preempted);
  b.end(b.c, b.p, 1, 1, 1);
  ASSERT_EQ(b.stops(b.a).size(), 1u) << "the other one can wait for it";
  EXPECT_FALSE(b.stops(b.a)[0].by_step);
  b.end(b.a, b.p, 1, 0, 0, true);
  EXPECT_EQ(b.state(b.p), starting);
  EXPECT_EQ(b.core->attempts_of(b.p)->at(0).end, program_end::preempted);
}

TEST(program_steps, preempted_program_can_be_restarted_or_cancelled) {
  stepping b;
  b.say(said::preempted);
  EXPECT_TRUE(b.wish(b.p, program_command::restart).ok());
  EXPECT_EQ(b.stops(b.a).size(), 1u);
  stepping other;
  other.say(said::preempted);
  EXPECT_TRUE(other.wish(other.p, program_command::cancel).ok());
  EXPECT_EQ(other.stops(other.a).size(), 1u);
  EXPECT_EQ(other.state(other.p), stopping);
}

TEST(program_steps, reports_of_another_attempt_are_ignored) {
  stepping b;
  b.say(said::preempted, 2);
  EXPECT_EQ(b.state(b.p), running);
  b.say(said::none);
  EXPECT_TRUE(b.stops(b.a).empty());
}

program_spec with_a_notice() {
  auto spec = of_workers(2);
  spec.deadline = 100s;
  spec.notice = 30s;
  return spec;
}

TEST(program_steps, notice_before_the_deadline_uses_an_agreed_step) {
  stepping b(with_a_notice());
  b.advance_in_touch(71s);
  EXPECT_EQ(b.state(b.p), stopping);
  ASSERT_EQ(b.stops(b.a).size(), 1u);
  EXPECT_TRUE(b.stops(b.a)[0].by_step);
  EXPECT_EQ(b.stops(b.a)[0].grace, 30s) << "remaining ranks are killed at the deadline";
  b.end(b.a, b.p, 1, 0, 0, true);
  EXPECT_EQ(b.stops(b.c).size(), 1u) << "a rank that succeeded is no reason for a signal";
  b.end(b.c, b.p, 1, 1, 0, true);
  EXPECT_EQ(b.state(b.p), failed);
}

TEST(program_steps, a_notice_is_a_signal_where_no_step_was_agreed_on) {
  stepping b(with_a_notice());
  b.advance_in_touch(71s);
  b.say(said::none);
  ASSERT_EQ(b.stops(b.a).size(), 2u);
  EXPECT_FALSE(b.stops(b.a)[1].by_step);
  EXPECT_LE(b.stops(b.a)[1].grace, 30s);
  b.say(said::none);
  EXPECT_EQ(b.stops(b.a).size(), 2u);
}

}  // namespace
}  // namespace muster::core::programs
