#include "tests/core/programs/fixture.hpp"

namespace muster::core::programs {
namespace {

using named = named_amounts;

program_spec with_spares(std::uint32_t ranks, std::uint32_t spares) {
  auto spec = of_workers(ranks, {{"gpu", 1}});
  spec.spares = spares;
  return spec;
}

TEST(program_spares, are_reserved_on_workers_without_ranks_of_the_program) {
  bench b;
  auto const first = b.attach(0, {{"gpu", 2}});
  auto const p = b.submit(with_spares(1, 1));
  EXPECT_EQ(b.find(p).spares, 1u) << "next to its rank if there is no other worker";
  EXPECT_EQ(b.resources.workers[first].free, (named{{"gpu", 0}}));
  auto const q = b.submit(with_spares(1, 1));
  EXPECT_EQ(b.state(q), program_state::pending) << "a spare is reserved for its program";
  auto const second = b.attach(1, {{"gpu", 2}});
  EXPECT_EQ(b.state(q), program_state::starting);
  EXPECT_EQ(b.find(q).spares, 1u);
  EXPECT_EQ(b.resources.workers[second].free, (named{{"gpu", 0}}));
}

TEST(program_spares, workers_with_spares_receive_the_upload) {
  bench b;
  auto const first = b.attach(0, {{"gpu", 1}});
  auto spec = with_spares(1, 2);
  spec.upload = std::string(64, 'a');
  auto const p = b.submit(spec);
  EXPECT_TRUE(b.orders(first).prepares.empty());
  auto const second = b.attach(1, {{"gpu", 2}});
  EXPECT_EQ(b.find(p).spares, 2u);
  EXPECT_EQ(b.orders(second).prepares, (std::vector<rank_orders::prepare>{{p, spec.upload}}));
  b.submit(with_spares(1, 0));
  EXPECT_TRUE(b.orders(second).prepares.empty()) << "once is enough";
}

TEST(program_spares, give_the_next_attempt_room_when_a_host_is_lost) {
  bench b;
  auto const first = b.attach(0, {{"gpu", 1}});
  auto const p = b.submit(with_spares(1, 1));
  EXPECT_EQ(b.find(p).spares, 0u);
  b.run(first, p, 1, {0});
  auto const second = b.attach(1, {{"gpu", 1}});
  EXPECT_EQ(b.find(p).spares, 1u);
  auto const other = b.submit(of_workers(1, {{"gpu", 1}}));
  EXPECT_EQ(b.state(other), program_state::pending);
  b.cut(first);
  for (int i = 0; i < 10; ++i) {
    b.report(second, {}, {}, 1 + static_cast<std::uint64_t>(i));
    b.advance(1s);
  }
  EXPECT_EQ(b.state(p), program_state::starting);
  EXPECT_EQ(b.find(p).attempt, 2u);
  EXPECT_EQ(b.find(p).spares, 0u) << "it has become its rank";
  EXPECT_EQ(b.core->ranks(p).value()[0].worker, "worker:1");
  EXPECT_EQ(b.state(other), program_state::pending);
}

TEST(program_spares, are_released_with_their_worker_and_with_the_program) {
  bench b;
  auto const first = b.attach(0, {{"gpu", 1}});
  auto const p = b.submit(with_spares(1, 2));
  auto const second = b.attach(1, {{"gpu", 2}});
  EXPECT_EQ(b.find(p).spares, 2u);
  b.cut(second);
  EXPECT_EQ(b.find(p).spares, 0u);
  auto const third = b.attach(2, {{"gpu", 2}});
  EXPECT_EQ(b.find(p).spares, 2u);
  b.run(first, p, 1, {0});
  b.end(first, p, 1, 0);
  EXPECT_EQ(b.state(p), program_state::succeeded);
  EXPECT_EQ(b.resources.workers[first].free, (named{{"gpu", 1}}));
  EXPECT_EQ(b.resources.workers[third].free, (named{{"gpu", 2}}));
}

TEST(program_spares, spares_of_an_ending_program_are_used_by_pending_programs) {
  bench b;
  auto const first = b.attach(0, {{"gpu", 1}});
  b.attach(1, {{"gpu", 1}});
  auto const p = b.submit(with_spares(1, 1));
  EXPECT_EQ(b.find(p).spares, 1u);
  auto const q = b.submit(of_workers(2, {{"gpu", 1}}));
  EXPECT_EQ(b.state(q), program_state::pending);
  b.run(first, p, 1, {0});
  b.end(first, p, 1, 0);
  b.advance(1s);
  EXPECT_EQ(b.state(q), program_state::starting);
}

TEST(program_spares, are_released_while_many_programs_do_not_fit) {
  bench b;
  auto const first = b.attach(0, {{"gpu", 1}});
  auto const second = b.attach(1, {{"gpu", 1}});
  auto const p = b.submit(with_spares(1, 1));
  for (int i = 0; i < 40; ++i) b.submit(of_workers(9, {{"gpu", 1}}));
  b.run(first, p, 1, {0});
  b.end(first, p, 1, 0);
  EXPECT_TRUE(b.wish(p, program_command::forget).ok());
  EXPECT_EQ(b.resources.workers[first].free, (named{{"gpu", 1}}));
  EXPECT_EQ(b.resources.workers[second].free, (named{{"gpu", 1}}));
}

TEST(program_spares, respect_the_limit_per_worker) {
  bench b;
  b.attach(0, {{"gpu", 4}});
  b.attach(1, {{"gpu", 4}});
  auto spec = with_spares(1, 3);
  spec.per_worker = 1;
  EXPECT_EQ(b.find(b.submit(spec)).spares, 1u) << "the next attempt could not use more";
}

TEST(program_spares, have_a_limit) {
  bench b;
  auto const wrong = b.step([&] { return b.core->submit(b.now, with_spares(1, 65)); }).error();
  EXPECT_EQ(wrong.field, "spares");
  EXPECT_EQ(wrong.limit, 64u);
}

struct with_notice : bench {
  stream_id w = attach(0);
  program_id p = [this] {
    auto spec = of_workers(1);
    spec.deadline = 100s;
    spec.notice = 30s;
    return submit(spec);
  }();
  with_notice() { run(w, p, 1, {0}); }
};

TEST(program_notice, is_sent_the_configured_time_before_the_deadline) {
  with_notice b;
  b.advance_in_touch(69s);
  EXPECT_EQ(b.state(b.p), program_state::running);
  b.advance_in_touch(2s);
  EXPECT_EQ(b.state(b.p), program_state::stopping);
  auto const& sent = b.sent[b.w];
  auto const stop =
      std::find_if(sent.begin(), sent.end(), [](auto const& o) { return !o.stops.empty(); });
  ASSERT_NE(stop, sent.end());
  EXPECT_EQ(stop->stops[0].grace, 30s) << "remaining ranks are killed at the deadline";
  b.end(b.w, b.p, 1, 0, 0, true);
  EXPECT_EQ(b.state(b.p), program_state::failed);
  EXPECT_EQ(b.find(b.p).cause->kind, cause_kind::deadline);
}

TEST(program_notice, late_notice_still_ends_at_the_deadline) {
  with_notice b;
  b.advance_in_touch(60s);
  b.now += 35s;
  b.report(b.w, {}, {}, 1'000);
  b.step([&] { b.core->tick(b.now); });
  EXPECT_EQ(b.orders(b.w).stops.at(0).grace, 5s);
}

TEST(program_notice, must_be_shorter_than_the_deadline) {
  bench b;
  auto spec = of_workers(1);
  spec.notice = 30s;
  EXPECT_EQ(b.step([&] { return b.core->submit(b.now, spec); }).error().field, "notice");
  spec.deadline = 30s;
  EXPECT_EQ(b.step([&] { return b.core->submit(b.now, spec); }).error().field, "notice");
}

}  // namespace
}  // namespace muster::core::programs
