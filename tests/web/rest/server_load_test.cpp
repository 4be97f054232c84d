#include "web/rest/server_load.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace muster::web {
namespace {

using namespace std::chrono_literals;
using clock = server_load::clock;

/// An engine that runs posted functions when the test calls run().
class server_load_test : public ::testing::Test {
 protected:
  void measure(clock::time_point now) {
    load.measure(
        [this](std::function<void()> work) {
          if (accepts) posted.push_back(std::move(work));
          return accepts;
        },
        now);
  }
  void run() {
    for (auto const& work : posted) work();
    posted.clear();
  }

  server_load load;
  std::vector<std::function<void()>> posted;
  bool accepts = true;
};

TEST_F(server_load_test, answered_probe_counts_once) {
  measure(clock::now());
  run();
  measure(clock::now());
  auto const f = load.read();
  EXPECT_TRUE(f.responding);
  EXPECT_EQ(f.lag.times.count(), 1u);
  EXPECT_LT(f.lag_now, 1s);
  EXPECT_EQ(load.total_lag().count(), 1u);
}

TEST_F(server_load_test, late_answer_counts_once_for_each_interval_that_it_missed) {
  measure(clock::now() - 3s);
  measure(clock::now());
  EXPECT_EQ(posted.size(), 1u) << "no second probe while one waits";
  run();
  measure(clock::now());
  auto const f = load.read();
  EXPECT_GE(f.lag.times.count(), 30u);
  EXPECT_LE(f.lag.times.count(), 40u);
  EXPECT_GE(f.lag.longest, 3s);
  EXPECT_GE(f.lag.times.percentile(0.5), 1s);
  EXPECT_TRUE(f.responding);
}

TEST_F(server_load_test, waiting_probe_is_part_of_the_current_and_the_longest_lag) {
  auto const begun = clock::now();
  measure(begun);
  EXPECT_TRUE(load.read(begun + 500ms).responding);
  auto const f = load.read(begun + 2s);
  EXPECT_FALSE(f.responding);
  EXPECT_EQ(f.lag_now, 2s);
  EXPECT_EQ(f.lag.longest, 2s);
  EXPECT_EQ(f.lag.times.count(), 0u);
}

TEST_F(server_load_test, refused_probe_counts_nothing) {
  accepts = false;
  auto const begun = clock::now();
  measure(begun);
  auto const f = load.read(begun + 5s);
  EXPECT_TRUE(f.responding);
  EXPECT_EQ(f.lag_now, 0s);
}

TEST_F(server_load_test, probe_can_outlive_the_load) {
  auto own = std::make_unique<server_load>();
  std::function<void()> late;
  own->measure([&](std::function<void()> work) {
    late = std::move(work);
    return true;
  });
  own.reset();
  late();
}

TEST_F(server_load_test, busy_cores_are_the_cpu_time_of_all_threads) {
  auto const begun = clock::now();
  measure(begun);
  std::uint64_t volatile n = 0;
  while (clock::now() - begun < 300ms) n = n + 1;
  auto const f = load.read();
  EXPECT_GT(f.busy_cores, 0.0);
  EXPECT_LT(f.busy_cores, 1.5);
}

}  // namespace
}  // namespace muster::web
