#include "server/core/per_worker/component_builds.hpp"

#include <gtest/gtest.h>

namespace muster::core {
namespace component_builds_cases {

constexpr stream_id s1{1}, s2{2};
constexpr time_point start{std::chrono::microseconds(100)};

TEST(component_builds, waiting_stream_is_taken_once_for_all_its_builds) {
  server_wide wide(start);
  changes told;
  component_builds builds(wide, told);
  builds.build_later(s1, per_worker_id{1});
  builds.build_later(s1, per_worker_id{2});
  EXPECT_EQ(builds.take_waiting(), std::vector{s1});
  EXPECT_FALSE(builds.any_waits());
  EXPECT_TRUE(builds.cancel_build(s1, per_worker_id{1}));
  EXPECT_FALSE(builds.cancel_build(s1, per_worker_id{1}));
  EXPECT_EQ(builds.to_build(s1), std::vector{per_worker_id{2}});
}

TEST(component_builds, only_the_stream_that_holds_a_component_can_lose_it) {
  server_wide wide(start);
  changes told;
  component_builds builds(wide, told);
  auto& v = builds.add();
  auto& c = v.components[{"worker", 0}];
  c.stream = s2;
  c.state = value_state::ready;
  builds.lose({"worker", 0}, s1, {}, {});
  EXPECT_EQ(c.state, value_state::ready);
  EXPECT_FALSE(component_builds::has_lost_all_tasks(v));
  builds.lose({"worker", 0}, s2, {}, {});
  EXPECT_EQ(c.state, value_state::aborted);
  EXPECT_TRUE(component_builds::has_lost_all_tasks(v));
  EXPECT_EQ(builds.invalid(), "");
}

TEST(component_builds, handle_of_another_server_start_is_unknown) {
  server_wide wide(start);
  changes told;
  component_builds builds(wide, told);
  auto const id = builds.add().id;
  EXPECT_TRUE(builds.was(id));
  EXPECT_FALSE(builds.was(per_worker_id{100}));
}

}  // namespace component_builds_cases
}  // namespace muster::core
