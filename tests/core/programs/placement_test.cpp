#include "tests/core/programs/fixture.hpp"

namespace muster::core::programs {
namespace {

using hosts = std::vector<std::uint32_t>;

hosts hosts_of(placement const& p) {
  hosts all;
  for (auto const& r : p.ranks) all.push_back(r.host);
  return all;
}

room with(std::uint32_t host, named_amounts free, named_texts const* labels = nullptr) {
  return {host, std::move(free), labels, 1'000};
}

TEST(rank_placement, spreads_ranks_without_resources_evenly) {
  EXPECT_EQ(hosts_of(place(of_workers(5), {with(0, {}), with(1, {})})), (hosts{0, 0, 0, 1, 1}));
}

TEST(rank_placement, packs_ranks_with_resources_on_few_hosts) {
  auto const p = place(of_workers(4, {{"gpu", 1}}),
                       {with(0, {{"gpu", 2}}), with(1, {{"gpu", 4}}), with(2, {{"gpu", 1}})});
  EXPECT_EQ(hosts_of(p), (hosts{1, 1, 1, 1}));
}

TEST(rank_placement, places_all_ranks_or_none_and_reports_how_many_fit) {
  auto const p = place(of_workers(4, {{"gpu", 2}}), {with(0, {{"gpu", 3}}), with(1, {{"gpu", 5}})});
  EXPECT_TRUE(p.ranks.empty());
  EXPECT_EQ(p.would_fit, 3u);
}

TEST(rank_placement, takes_as_many_of_a_range_as_fit) {
  auto spec = of_workers(8, {{"gpu", 1}});
  spec.tasks[0].min = 2;
  EXPECT_EQ(place(spec, {with(0, {{"gpu", 3}}), with(1, {{"gpu", 2}})}).ranks.size(), 5u);
  EXPECT_TRUE(place(spec, {with(0, {{"gpu", 1}})}).ranks.empty());
}

TEST(rank_placement, places_task_types_with_labels_before_others) {
  auto spec = of_workers(1, {{"gpu", 1}});
  spec.tasks.push_back({.type = "chief", .resources = {{"gpu", 1}}, .labels = {{"fast", "yes"}}});
  named_texts const fast{{"fast", "yes"}};
  auto const p = place(spec, {with(0, {{"gpu", 1}}, &fast), with(1, {{"gpu", 1}})});
  ASSERT_EQ(p.ranks.size(), 2u);
  EXPECT_EQ(p.ranks[0], (placed_rank{1, 0, 0})) << "the chief is rank 0";
  EXPECT_EQ(p.ranks[1], (placed_rank{0, 0, 1}));
}

TEST(rank_placement, respects_the_limit_per_worker) {
  auto spec = of_workers(3);
  spec.per_worker = 1;
  EXPECT_TRUE(place(spec, {with(0, {}), with(1, {})}).ranks.empty());
  EXPECT_EQ(hosts_of(place(spec, {with(0, {}), with(1, {}), with(2, {})})), (hosts{0, 1, 2}));
}

TEST(rank_ports, released_ports_are_not_reused_at_once) {
  time_point now{};
  port_table ports(60s);
  EXPECT_EQ(ports.take("h", 10, 11, now), 10);
  EXPECT_EQ(ports.take("other", 10, 11, now), 10);
  EXPECT_EQ(ports.take("h", 10, 11, now), 11);
  EXPECT_EQ(ports.take("h", 10, 11, now), std::nullopt);
  ports.give_back("h", 11, now);
  EXPECT_EQ(ports.available("h", 10, 11, now + 59s, 9), 0u);
  EXPECT_EQ(ports.take("h", 10, 11, now + 60s), 11);
}

}  // namespace
}  // namespace muster::core::programs
