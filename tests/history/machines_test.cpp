#include "server/history/machines/machines.hpp"

#include <gtest/gtest.h>

namespace muster::history {
namespace {

using namespace std::chrono_literals;

machine with_memory(std::uint64_t used) {
  machine m;
  m.cpu = 1.5;
  m.memory = used;
  m.memory_total = 100;
  return m;
}

struct machines_test : testing::Test {
  time_point now{1'000'000s};
  machines all;

  void report(std::string const& task, std::uint64_t memory = 10) {
    now += 5s;
    all.report(task, with_memory(memory), now);
  }
};

TEST_F(machines_test, newest_and_samples_of_an_hour) {
  EXPECT_LE(sizeof(machine_sample), 60u);
  for (std::size_t i = 0; i < machines::samples_max + 3; ++i) report("worker:0", i);
  auto const* row = all.find("worker:0");
  ASSERT_TRUE(row);
  EXPECT_EQ(row->newest.memory, machines::samples_max + 2);
  auto const samples = machines::samples(*row);
  ASSERT_EQ(samples.size(), machines::samples_max);
  EXPECT_EQ(samples.front().memory, 3);
  EXPECT_EQ(samples.back().memory, static_cast<float>(machines::samples_max + 2));
  EXPECT_EQ(samples.back().at - samples.front().at, 5 * (machines::samples_max - 1));
  EXPECT_EQ(samples.back().cpu, 1.5f);
  EXPECT_LT(samples.back().gpu, 0) << "unknown, and not zero";
}

TEST_F(machines_test, gpus_are_combined) {
  machine m;
  m.gpus = {{"a", 0.5, 10, 80}, {"b", 1.0, 20, 80}, {"c", {}, {}, {}}};
  all.report("worker:0", m, now);
  auto const s = machines::samples(*all.find("worker:0"))[0];
  EXPECT_EQ(s.gpu, 0.75f);
  EXPECT_EQ(s.gpu_memory, 30.0f);
  EXPECT_LT(s.cpu, 0);
}

TEST_F(machines_test, absent_or_silent_machine_is_not_fresh) {
  report("worker:0");
  auto const* row = all.find("worker:0");
  EXPECT_TRUE(row->fresh(now + machines::fresh_for));
  EXPECT_FALSE(row->fresh(now + machines::fresh_for + 1s));
  all.remove_machine("worker:0");
  EXPECT_FALSE(row->fresh(now));
  report("worker:0");
  EXPECT_TRUE(row->fresh(now)) << "it has reported again";
  EXPECT_EQ(machines::samples(*row).size(), 2u);
  EXPECT_FALSE(all.find("worker:1"));
}

TEST_F(machines_test, near_the_limit_after_some_samples) {
  for (std::size_t i = 1; i < machines::near_limit_after; ++i) report("worker:0", 95);
  auto const* row = all.find("worker:0");
  EXPECT_FALSE(row->is_near_limit(now));
  report("worker:0", 99);
  EXPECT_TRUE(row->is_near_limit(now));
  EXPECT_EQ(row->near_since, time_point(1'000'005s));
  report("worker:0", 94);
  EXPECT_FALSE(row->is_near_limit(now));
  all.report("worker:0", machine{}, now);
  EXPECT_FALSE(row->is_near_limit(now)) << "it has no samples";
}

TEST_F(machines_test, number_of_machines_is_limited) {
  for (std::size_t i = 0; i < machines::machines_max; ++i) report("worker:" + std::to_string(i));
  EXPECT_TRUE(all.find("worker:" + std::to_string(machines::charts_max - 1))->charted);
  EXPECT_FALSE(all.find("worker:" + std::to_string(machines::charts_max))->charted);
  report("late:0");
  EXPECT_FALSE(all.find("late:0")) << "all machines are there";
  all.remove_machine("worker:1");
  report("late:0");
  EXPECT_TRUE(all.find("late:0"));
  EXPECT_TRUE(all.find("late:0")->charted) << "in the place of the evicted one";
  EXPECT_FALSE(all.find("worker:1"));
  EXPECT_EQ(all.all().size(), machines::machines_max);
}

}  // namespace
}  // namespace muster::history
