#include "tests/core/programs/fixture.hpp"

namespace muster::core::programs {
namespace {

process with_key(std::int64_t index, std::string key) {
  auto const host = "host" + std::to_string(index);
  process p{static_cast<std::uint64_t>(index) + 1, index, host, {}};
  p.tunnel_key = std::move(key);
  return p;
}

TEST(program_tunnels, are_used_only_if_all_workers_of_the_attempt_support_them) {
  bench b;
  auto const a = b.attach(with_key(0, "key of 0"));
  auto const old = b.attach(1);
  b.submit(of_workers(2));
  EXPECT_FALSE(b.orders(a).starts.at(0).sheet->tunnels);
  b.cut(old);
  b.submit(of_workers(2));
  EXPECT_TRUE(b.orders(a).starts.at(0).sheet->tunnels);
}

TEST(program_tunnels, carry_the_torch_store_if_requested_and_supported_by_all_workers) {
  bench b;
  auto const a = b.attach(with_key(0, "key of 0"));
  auto of_one = with_key(1, "key of 1");
  of_one.torch = false;
  auto const old = b.attach(of_one);
  auto spec = of_workers(2);
  spec.store = store_place::server;
  b.submit(spec);
  EXPECT_TRUE(b.orders(a).starts.at(0).sheet->tunnels);
  EXPECT_FALSE(b.orders(a).starts.at(0).sheet->store) << "one is older";
  b.cut(old);
  b.submit(spec);
  EXPECT_TRUE(b.orders(a).starts.at(0).sheet->store);
  b.submit(of_workers(2));
  EXPECT_FALSE(b.orders(a).starts.at(0).sheet->store) << "rank 0 has it";
}

TEST(program_tunnels, belong_to_workers_with_a_living_rank_of_the_attempt) {
  bench b;
  auto const a = b.attach(with_key(0, "key of 0"));
  auto spec = of_workers(1);
  spec.max_restarts = 1;
  auto const p = b.submit(spec);
  b.attach(with_key(1, "key of 1"));
  EXPECT_TRUE(b.core->admits(p, 1, "key of 0"));
  EXPECT_FALSE(b.core->admits(p, 1, "key of 1")) << "it runs no rank of this attempt";
  EXPECT_FALSE(b.core->admits(p, 1, "")) << "keys are not empty";
  EXPECT_FALSE(b.core->admits(p, 2, "key of 0"));
  EXPECT_FALSE(b.core->admits(program_id{1}, 1, "key of 0"));
  b.run(a, p, 1, {0});
  b.end(a, p, 1, 0, 1);
  EXPECT_FALSE(b.core->admits(p, 1, "key of 0")) << "the attempt has ended";
  EXPECT_EQ(b.find(p).attempt, 2u);
}

TEST(program_tunnels, stay_while_the_worker_is_away) {
  bench b;
  auto const a = b.attach(with_key(0, "key of 0"));
  auto const p = b.submit(of_workers(1));
  b.run(a, p, 1, {0});
  b.cut(a);
  EXPECT_TRUE(b.core->admits(p, 1, "key of 0"));
  b.advance(2 * bench::lease);
  EXPECT_FALSE(b.core->admits(p, 1, "key of 0"));
}

}  // namespace
}  // namespace muster::core::programs
