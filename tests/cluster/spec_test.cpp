#include "muster/cluster_spec.hpp"
#include "tests/cluster/fixture.hpp"

namespace muster {
namespace spec_cases {

using testing::fault_of;
using testing::spec_of;

cluster_spec two_jobs() {
  return spec_of({{"worker", {{0, "a:1"}, {1, "b:1"}}}, {"ps", {{0, "c:1"}, {3, "d:1"}}}});
}

TEST(spec, empty_spec_has_no_jobs) {
  EXPECT_TRUE(cluster_spec().empty());
  EXPECT_EQ(cluster_spec().size(), 0u);
  EXPECT_FALSE(spec_of({{"worker", {}}}).empty());
}

TEST(spec, jobs_are_sorted_by_name_and_tasks_by_index) {
  auto const spec = two_jobs();
  EXPECT_EQ(spec.jobs(), (std::vector<std::string>{"ps", "worker"}));
  EXPECT_EQ(spec.task_indices("ps"), (std::vector<int>{0, 3}));
  EXPECT_EQ(spec.num_tasks("ps"), 2u);
  EXPECT_EQ(spec.size(), 4u);
  EXPECT_EQ(spec.task_address("ps", 3), "d:1");
  EXPECT_TRUE(spec.has_task("ps", 3));
  EXPECT_FALSE(spec.has_task("ps", 1));
  EXPECT_FALSE(spec.has_task("chief", 0));
}

TEST(spec, a_list_of_tasks_has_none_in_the_gaps) {
  auto const tasks = two_jobs().job_tasks("ps");
  EXPECT_EQ(tasks, (std::vector<std::optional<std::string>>{"c:1", {}, {}, "d:1"}));
  EXPECT_FALSE(two_jobs().is_dense("ps"));
  EXPECT_TRUE(two_jobs().is_dense("worker"));
  EXPECT_TRUE(spec_of({{"worker", {}}}).job_tasks("worker").empty());
}

TEST(spec, unknown_job_error_lists_the_existing_jobs) {
  auto const spec = two_jobs();
  auto const line = "no such job in cluster: 'chief' (its jobs are ps, worker)";
  auto const missing = cluster_error::code::missing;
  EXPECT_EQ(fault_of([&] { spec.num_tasks("chief"); }, missing), line);
  EXPECT_EQ(fault_of([&] { spec.task_indices("chief"); }, missing), line);
  EXPECT_EQ(fault_of([&] { spec.job_tasks("chief"); }, missing), line);
  EXPECT_EQ(fault_of([&] { spec.task_address("chief", 0); }, missing), line);
  EXPECT_EQ(fault_of([&] { cluster_spec().job("chief"); }, missing),
            "no such job in cluster: 'chief' (its jobs are none)");
}

TEST(spec, unknown_index_error_lists_the_existing_indices) {
  auto const spec = two_jobs();
  auto const missing = cluster_error::code::missing;
  EXPECT_EQ(fault_of([&] { spec.task_address("worker", 2); }, missing),
            "no task with index 2 in job 'worker', which has tasks 0 to 1");
  EXPECT_EQ(fault_of([&] { spec.task_address("worker", -1); }, missing),
            "no task with index -1 in job 'worker', which has tasks 0 to 1");
  EXPECT_EQ(fault_of([&] { spec.task_address("ps", 2); }, missing),
            "no task with index 2 in job 'ps', which has 2 tasks, the last 3");
  EXPECT_EQ(fault_of(
                [] {
                  spec_of({{"a", {}}}).task_address("a", 0);
                },
                missing),
            "no task with index 0 in job 'a', which has no tasks");
}

TEST(spec, a_value_that_cannot_be_a_task_is_refused) {
  EXPECT_EQ(fault_of([] { spec_of({{"", {}}}); }), "a job has no name");
  EXPECT_EQ(fault_of([] {
              spec_of({{"w", {{-1, "a:1"}}}});
            }),
            "job 'w', task -1: the index is negative");
  EXPECT_EQ(fault_of([] {
              spec_of({{"w", {{1'000'000, "a:1"}}}});
            }),
            "job 'w', task 1000000: the highest index is 999999");
  EXPECT_EQ(fault_of([] { spec_of({{"w", {{0, ""}}}}); }), "job 'w', task 0: the address is empty");
  EXPECT_EQ(fault_of([] {
              spec_of({{"w", {{0, "a\nb"}}}});
            }),
            "job 'w', task 0: the address 'a\\x0ab' contains a control character");
  EXPECT_EQ(fault_of([] {
              spec_of({{"w\n", {}}});
            }),
            "job 'w\\x0a': its name contains a control character");
}

TEST(spec, its_limits_hold) {
  EXPECT_NO_THROW(spec_of({{std::string(256, 'n'), {{999'999, std::string(1024, 'a')}}}}));
  EXPECT_NE(fault_of([] {
              spec_of({{std::string(257, 'n'), {}}});
            }).find("its name is longer than 256 bytes"),
            std::string::npos);
  EXPECT_EQ(fault_of([] {
              spec_of({{"w", {{0, std::string(1025, 'a')}}}});
            }),
            "job 'w', task 0: the address is longer than 1024 bytes");
  std::map<std::string, cluster_spec::tasks> jobs;
  for (int i = 0; i < 1025; ++i) jobs["j" + std::to_string(i)];
  EXPECT_EQ(fault_of([&] { (void)spec_of(jobs); }), "1025 jobs; the limit is 1024");
  std::map<std::string, cluster_spec::tasks> tasks;
  for (int i = 0; i < 500'001; ++i) {
    tasks["a"].emplace_hint(tasks["a"].end(), i, "h");
    tasks["b"].emplace_hint(tasks["b"].end(), i, "h");
  }
  EXPECT_EQ(fault_of([&] { (void)spec_of(tasks); }),
            "the cluster has more than 1000000 tasks, which is the limit");
}

TEST(spec, equal_specs_compare_equal) {
  EXPECT_EQ(two_jobs(), two_jobs());
  EXPECT_NE(two_jobs(), spec_of({{"worker", {{0, "a:1"}}}}));
}

}  // namespace spec_cases
}  // namespace muster
