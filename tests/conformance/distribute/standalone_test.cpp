#include <atomic>

#include "tests/conformance/distribute/fixture.hpp"

namespace muster::test {
namespace {

struct distribute_standalone : testing::Test {
  distribute_options options(cluster_spec cluster) {
    distribute_options o;
    o.cluster = std::move(cluster);
    o.environment = no_environment();
    o.servers = made.factory();
    return o;
  }
  void run(strategy_traits t, cluster_spec cluster) {
    run_distribute_coordinator([this] { seen.note(); }, test_strategy(t), options(cluster));
  }

  servers made;
  contexts seen;
};

TEST_F(distribute_standalone, testInGraphStandaloneMode) {
  std::atomic<int> calls = 0;
  auto const result = run_distribute_coordinator([&] { return 10 + ++calls; }, test_strategy({}),
                                                 options(three_workers_two_ps()));
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(std::any_cast<int>(result), 11);
  EXPECT_TRUE(made.all().empty()) << "a client starts no server";
}

TEST_F(distribute_standalone, testBetweenGraph) {
  std::atomic<int> x = 0, right = 0;
  auto const result = run_distribute_coordinator(
      [&] {
        auto& c = *current_worker_context();
        if (c.is_chief()) x = 10;
        c.wait_for_others();
        x += *c.task_id() + 1;
        c.wait_for_others();
        right += x == 16 ? 1 : 0;
      },
      test_strategy({.between_graph = true}), options(three_workers_two_ps()));
  EXPECT_EQ(right, 3);
  EXPECT_FALSE(result.has_value());
}

TEST_F(distribute_standalone, testBetweenGraphContext) {
  run({.between_graph = true}, three_workers_two_ps());
  auto const all = seen.all();
  ASSERT_EQ(all.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    auto const& c = all.at("worker:" + std::to_string(i));
    EXPECT_EQ(c.master, "grpc://w:" + std::to_string(i + 1));
    EXPECT_EQ(c.num_workers, 3);
    EXPECT_EQ(c.is_chief, i == 0);
    EXPECT_TRUE(c.distributed);
    EXPECT_TRUE(c.barrier);
  }
}

TEST_F(distribute_standalone, testBetweenGraphStrategyProperties) {
  run({.between_graph = true, .init = true}, three_workers_two_ps());
  for (auto const& [name, c] : seen.all()) {
    EXPECT_TRUE(c.init) << name;
    EXPECT_EQ(c.checkpoint, name == "worker:0") << name;
    EXPECT_EQ(c.summary, name == "worker:0") << name;
  }
  EXPECT_EQ(seen.all().size(), 3u);
}

TEST_F(distribute_standalone, testInGraphContext) {
  run({}, three_workers_two_ps());
  auto const all = seen.all();
  ASSERT_EQ(all.size(), 1u);
  auto const& c = all.at("");
  EXPECT_EQ(c.master, "grpc://w:1");
  EXPECT_EQ(c.num_workers, 3);
  EXPECT_TRUE(c.is_chief);
  EXPECT_TRUE(c.distributed);
  EXPECT_FALSE(c.barrier);
}

TEST_F(distribute_standalone, testLocalContext) {
  run({}, {});
  auto const all = seen.all();
  ASSERT_EQ(all.size(), 1u);
  auto const& c = all.at("");
  EXPECT_EQ(c.master, "");
  EXPECT_EQ(c.num_workers, 0);
  EXPECT_TRUE(c.is_chief);
  EXPECT_FALSE(c.distributed);
}

TEST_F(distribute_standalone, testBetweenGraphContextWithChief) {
  run({.between_graph = true}, three_workers_two_ps({{"chief", {{0, "c:1"}}}}));
  auto const all = seen.all();
  ASSERT_EQ(all.size(), 4u);
  for (auto const& [name, c] : all) {
    EXPECT_EQ(c.num_workers, 4);
    EXPECT_EQ(c.is_chief, name == "chief:0") << name;
    EXPECT_TRUE(c.distributed);
  }
  EXPECT_EQ(all.at("chief:0").master, "grpc://c:1");
}

TEST_F(distribute_standalone, testInGraphContextWithEval) {
  run({}, three_workers_two_ps({{"evaluator", {{0, "e:1"}}}}));
  auto const all = seen.all();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all.at("").master, "grpc://w:1");
  EXPECT_EQ(all.at("").num_workers, 3);
  auto const& e = all.at("evaluator:0");
  EXPECT_EQ(e.master, "");
  EXPECT_TRUE(e.is_chief);
  EXPECT_FALSE(e.distributed);
  EXPECT_FALSE(e.init || e.checkpoint || e.summary) << "it has no strategy";
}

TEST_F(distribute_standalone, between_graph_with_an_evaluator) {
  run({.between_graph = true}, three_workers_two_ps({{"evaluator", {{0, "e:1"}}}}));
  auto const all = seen.all();
  ASSERT_EQ(all.size(), 4u);
  for (int i = 0; i < 3; ++i) {
    auto const& c = all.at("worker:" + std::to_string(i));
    EXPECT_EQ(c.num_workers, 3) << "it is not a worker";
    EXPECT_EQ(c.is_chief, i == 0);
    EXPECT_TRUE(c.barrier);
  }
  auto const& e = all.at("evaluator:0");
  EXPECT_EQ(e.master, "");
  EXPECT_TRUE(e.is_chief);
  EXPECT_FALSE(e.distributed);
  EXPECT_FALSE(e.barrier) << "the workers do not wait for it";
}

}  // namespace
}  // namespace muster::test
