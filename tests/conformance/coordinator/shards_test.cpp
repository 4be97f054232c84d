// Shards are disjoint and complete. The original suite has no such tests: its cluster is fixed.
#include <algorithm>

#include "tests/conformance/coordinator/datasets.hpp"
#include "tests/conformance/coordinator/fixture.hpp"

namespace muster::test {
namespace {

struct shards : conformance {
  shards() : conformance(0) {}

  void declare(std::uint32_t num_workers) {
    coordinator_options o;
    o.server = server.address();
    o.num_workers = num_workers;
    c.emplace(o);
  }
  void start(std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) start_worker();
    ASSERT_TRUE(connected(server, workers.size()));
  }
  std::vector<int> rest_of(per_worker_value const& data, int index) {
    return c->with({.task_job = "worker", .task_index = index})
        .schedule<std::vector<int>>("rest", data)
        .fetch();
  }
  std::vector<int> all_of(per_worker_value const& data, int n) {
    std::vector<int> all;
    for (int i = 0; i < n; ++i) {
      auto const some = rest_of(data, i);
      all.insert(all.end(), some.begin(), some.end());
    }
    std::sort(all.begin(), all.end());
    return all;
  }
  std::vector<int> const six{0, 1, 2, 3, 4, 5};
};

TEST_F(shards, other_jobs_do_not_count) {
  start(2);
  auto other = options_for(server.address());
  other.job = "ps";
  worker_thread const ps(other, add_datasets);
  ASSERT_TRUE(connected(server, 3));
  auto const data = c->create_per_worker_value("sharded", 6);
  EXPECT_EQ(all_of(data, 2), six);
  EXPECT_EQ(data.components().size(), 2u) << "nothing is built on a parameter server";
}

TEST_F(shards, declared_number_holds_however_late_workers_attach) {
  declare(3);
  auto const data = c->create_per_worker_value("sharded", 6);
  for (int i = 0; i < 3; ++i) {
    start_worker();
    EXPECT_EQ(rest_of(data, i), (std::vector{i, i + 3}));
  }
}

TEST_F(shards, worker_that_replaces_another_has_its_shard) {
  start(3);
  auto const data = c->create_per_worker_value("sharded", 6);
  EXPECT_EQ(all_of(data, 3), six);
  workers[1]->stop();
  start_worker();
  EXPECT_EQ(rest_of(data, 1), (std::vector{1, 4}));
  EXPECT_EQ(all_of(data, 3), six);
}

// Quick functions run on the thread that reads messages.
TEST_F(shards, quick_functions_see_the_number_too) {
  declare(7);
  worker_thread const w(options_for(server.address()), [](worker& at) {
    at.quick_function("how_many", [](context& here) { return here.num_workers(); });
  });
  EXPECT_EQ(c->schedule<int>("how_many").fetch(), 7);
}

}  // namespace
}  // namespace muster::test
