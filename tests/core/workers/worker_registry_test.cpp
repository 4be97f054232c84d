#include "server/core/workers/worker_registry.hpp"

#include <gtest/gtest.h>

namespace muster::core {
namespace worker_registry_cases {

constexpr time_point t0{std::chrono::seconds(100)};

struct registry_test : testing::Test {
  config limits;
  server_wide wide{time_point{}}, other_wide{time_point{}};
  changes told;
  worker_registry registry{limits, wide, told};

  worker& attach(std::uint64_t stream, std::int64_t index) {
    worker_spec spec;
    spec.index = index;
    spec.incarnation = incarnation{stream};
    auto& row = **registry.tasks.admit(t0, spec, [](auto const&) { return 0; });
    auto& w = registry.add(stream_id{stream}, row);
    w.counted = true;
    registry.tasks.arrived(t0, row, spec);
    registry.serve(w);
    return w;
  }
};

TEST_F(registry_test, a_number_is_used_again_and_a_stream_is_not) {
  auto const first = attach(1, 0).number;
  attach(2, 1);
  auto& w = registry.of(first);
  EXPECT_EQ(w.stream, stream_id{1});
  registry.tasks.left(t0, *w.task, task_state::error, "gone");
  registry.erase(w);
  EXPECT_EQ(registry.find(stream_id{1}), nullptr);
  EXPECT_EQ(attach(3, 0).number, first);
  EXPECT_EQ(registry.invalid(), "");
}

TEST_F(registry_test, worker_gets_its_last_index_again_unless_it_is_taken) {
  auto const picked = [this](std::uint64_t process, std::int64_t last, std::int64_t tasks = 0) {
    worker_spec spec;
    spec.last_index = last;
    spec.incarnation = incarnation{process};
    return (*registry.tasks.admit(t0, spec, [tasks](auto const&) { return tasks; }))->index;
  };
  EXPECT_EQ(picked(1, 5), 5);
  EXPECT_EQ(picked(1, 5, 4), 0) << "only four are expected, and none of them can be missing";
  EXPECT_EQ(picked(1, 3, 4), 3);
  attach(2, 1);
  EXPECT_EQ(picked(3, 1), 0) << "that index is in use";
  auto& gone = attach(4, 2);
  registry.tasks.left(t0, *gone.task, task_state::error, "gone");
  registry.erase(gone);
  EXPECT_EQ(picked(5, 2), 2) << "it is present, and never had another index";
}

TEST_F(registry_test, counts_of_a_job_are_removed_with_its_last_row) {
  for (std::uint64_t process = 1; process <= 3; ++process) {
    worker_spec spec;
    spec.job = "job" + std::to_string(process);
    spec.incarnation = incarnation{process};
    auto& row = **registry.tasks.admit(t0, spec, [](auto const&) { return 0; });
    EXPECT_EQ(row.index, 0);
    registry.tasks.arrived(t0, row, spec);
    registry.tasks.left(t0, row, task_state::error, "gone");
  }
  EXPECT_EQ(registry.tasks.jobs_counted(), 3u);
  registry.tasks.give_up(*registry.tasks.find("job1", 0));
  auto const later = t0 + limits.recovery_timeout + limits.task_retention;
  registry.tasks.sweep(later, {}, [](auto const&) { return false; });
  registry.tasks.sweep(later + limits.task_retention, {}, [](auto const&) { return false; });
  for (auto const* job : {"job1", "job2", "job3"})
    if (auto* t = registry.tasks.find(job, 0); t && !t->given_up) registry.tasks.give_up(*t);
  registry.tasks.sweep(later + 3 * limits.task_retention, {}, [](auto const&) { return false; });
  EXPECT_TRUE(registry.tasks.rows().empty());
  EXPECT_EQ(registry.tasks.jobs_counted(), 0u);
  EXPECT_EQ(registry.invalid(), "");
}

TEST_F(registry_test, a_task_that_is_present_has_a_worker) {
  auto& w = attach(1, 0);
  EXPECT_EQ(registry.invalid(), "");
  w.away = true;
  EXPECT_NE(registry.invalid(), "") << "no closure waits for it";
}

}  // namespace worker_registry_cases
}  // namespace muster::core
