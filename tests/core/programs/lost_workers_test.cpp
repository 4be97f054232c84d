#include "tests/core/programs/fixture.hpp"

namespace muster::core::programs {
namespace {

program_view described(bench const& b, program_id p) {
  auto v = b.find(p);
  describe_losses(v, b.now);
  return v;
}

TEST(lost_worker, is_reported_with_the_time_left_and_the_replacement_host) {
  bench b;
  auto const first = b.attach(0, {{"gpu", 1}});
  auto const second = b.attach(1, {{"gpu", 1}});
  auto spec = of_workers(2, {{"gpu", 1}});
  spec.spares = 1;
  auto const p = b.submit(spec);
  b.run(first, p, 1, {0});
  b.run(second, p, 1, {1});
  b.attach(2, {{"gpu", 1}});
  EXPECT_EQ(b.find(p).spares, 1u);
  EXPECT_TRUE(b.find(p).lost_workers.empty());
  b.cut(second);
  auto const at = b.now;
  b.now += 3s;
  auto const v = described(b, p);
  ASSERT_EQ(v.lost_workers.size(), 1u);
  auto const& l = v.lost_workers.front();
  EXPECT_EQ(l.worker, "worker:1");
  EXPECT_EQ(l.ranks, 1u);
  EXPECT_EQ(l.since, at);
  EXPECT_EQ(l.given_up, at + 9s) << "a lease of 8 s with a margin";
  EXPECT_EQ(l.text,
            "worker:1 on host1 has been lost for 3 s; its rank will be given up in 6 s "
            "(--program-lease); then attempt 2 will begin on host2");
  auto const ranks = b.core->ranks(p).value();
  EXPECT_FALSE(ranks[0].worker_lost);
  EXPECT_TRUE(ranks[1].worker_lost);
}

TEST(lost_worker, returned_worker_is_no_longer_reported_as_lost) {
  bench b;
  process const worker{7, 1, "host1", {}};
  auto const s = b.attach(worker);
  auto const p = b.submit(of_workers(2));
  b.run(s, p, 1, {0, 1});
  b.cut(s);
  EXPECT_EQ(described(b, p).lost_workers.at(0).ranks, 2u);
  b.attach(worker, {{{p, 1, 0}, 100, {}, {}}, {{p, 1, 1}, 101, {}, {}}});
  EXPECT_TRUE(b.find(p).lost_workers.empty());
  EXPECT_FALSE(b.core->ranks(p).value()[0].worker_lost);
}

// Ranks of gloo fail a moment after the processes of another host were killed.
struct failure_without_a_worker : testing::Test {
  void fail_half_a_second_after_a_disconnect(std::uint32_t max_restarts) {
    auto spec = of_workers(2);
    spec.max_restarts = max_restarts;
    spec.per_worker = 1;
    first = b.attach(0);
    second = b.attach(other);
    p = b.submit(spec);
    b.run(first, p, 1, {0});
    b.run(second, p, 1, {1});
    b.cut(second);
    b.advance(500ms);
    b.report(first, {}, {{.name = {p, 1, 0}, .exit_status = 3, .stderr_lines = {"reset"}}});
  }
  program_attempt_view attempt() { return b.core->attempts_of(p).value().at(0); }
  bench b;
  process const other{7, 1, "host1", {}};
  stream_id first{}, second{};
  program_id p{};
};

TEST_F(failure_without_a_worker, is_attributed_to_the_worker_if_it_does_not_return) {
  fail_half_a_second_after_a_disconnect(1);
  EXPECT_EQ(attempt().cause->rank, 0) << "the worker may return";
  b.advance(999ms);
  EXPECT_EQ(attempt().cause->rank, 0);
  b.advance(1ms);
  auto const a = attempt();
  EXPECT_EQ(a.end, program_end::lost);
  EXPECT_EQ(a.cause->kind, cause_kind::worker_lost);
  EXPECT_EQ(a.cause->rank, 1);
  EXPECT_EQ(a.cause->host, "host1");
  EXPECT_EQ(a.cause->text,
            "rank 1 on worker:1 (host1): worker:1 is disconnected; after that, rank 0 on worker:0 "
            "(host0): exit status 3");
  EXPECT_EQ(a.cause->stderr_lines, std::vector<std::string>{"reset"});
  EXPECT_EQ(b.find(p).cause->text, a.cause->text);
  EXPECT_EQ(b.find(p).restarts, 0u) << "a lost worker is not counted";
}

TEST_F(failure_without_a_worker, restarts_the_program_although_no_restart_is_left) {
  fail_half_a_second_after_a_disconnect(0);
  EXPECT_EQ(b.state(p), program_state::stopping);
  b.advance(1s);
  EXPECT_EQ(b.state(p), program_state::restarting);
}

TEST_F(failure_without_a_worker, stays_a_failure_of_the_rank_if_the_worker_returns) {
  fail_half_a_second_after_a_disconnect(1);
  b.advance(300ms);
  b.attach(other, {{{p, 1, 1}, 101, {}, {}}});
  b.advance(2s);
  EXPECT_EQ(attempt().end, program_end::failed);
  EXPECT_EQ(attempt().cause->rank, 0);
  EXPECT_EQ(b.find(p).restarts, 1u);
}

TEST_F(failure_without_a_worker, stays_a_failure_of_the_rank_if_the_worker_disconnects_again) {
  fail_half_a_second_after_a_disconnect(1);
  auto const again = b.attach(other, {{{p, 1, 1}, 101, {}, {}}});
  b.advance(100ms);
  b.cut(again);
  b.advance(2s);
  EXPECT_EQ(attempt().cause->rank, 0) << "the worker was connected after the failure";
}

TEST_F(failure_without_a_worker, does_not_restart_a_program_that_was_cancelled_since) {
  fail_half_a_second_after_a_disconnect(1);
  ASSERT_TRUE(b.wish(p, program_command::cancel).ok());
  b.advance(2s);
  EXPECT_EQ(attempt().cause->rank, 1);
  EXPECT_EQ(b.find(p).cause->kind, cause_kind::request);
  EXPECT_EQ(b.state(p), program_state::stopping);
}

TEST(lost_worker, in_a_stopped_program_starts_no_attempt) {
  bench b;
  auto const s = b.attach(0);
  auto const p = b.submit(of_workers(2));
  b.run(s, p, 1, {0, 1});
  ASSERT_TRUE(b.wish(p, program_command::cancel).ok());
  b.cut(s);
  EXPECT_EQ(described(b, p).lost_workers.at(0).text,
            "worker:0 on host0 has been lost for 0 s; its ranks will be given up in 9 s "
            "(--program-lease); then the program will end");
}

}  // namespace
}  // namespace muster::core::programs
