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
