#include "server/core/coordination/groups/alive_groups.hpp"
#include "server/core/coordination/groups/device_exchange.hpp"
#include "server/core/coordination/groups/notice_listeners.hpp"
#include "server/core/coordination/groups/task_watches.hpp"

namespace muster::core::coordination {
namespace groups_cases {

using namespace std::chrono_literals;

constexpr time_point start{std::chrono::seconds(1'000)};

std::vector<task_status> one_task() {
  return {{0, agent_state::connected, incarnation{7}, nullptr}};
}

TEST(task_watches, changes_within_the_interval_are_combined) {
  task_watches watches(1, 5ms);
  watches.note_change(start);
  EXPECT_EQ(watches.due(), never) << "without watchers";
  watches.add(call_id{1}, false);
  watches.note_change(start + 1ms);
  watches.note_change(start + 2ms);
  EXPECT_EQ(watches.due(), start + 6ms);
  EXPECT_EQ(watches.take(), std::set<call_id>{call_id{1}});
  EXPECT_EQ(watches.due(), never);
}

TEST(task_watches, few_watchers_are_answered_at_once_unless_just_answered) {
  task_watches watches(1, 5ms, 1);
  watches.add(call_id{1}, false);
  watches.note_change(start);
  EXPECT_EQ(watches.due(), start);
  watches.take();
  watches.snapshot(0, 3, start, one_task);
  watches.add(call_id{2}, false);
  watches.note_change(start + 1ms);
  EXPECT_EQ(watches.due(), start + 5ms);
  watches.take();
  watches.add(call_id{3}, false);
  watches.add(call_id{4}, false);
  watches.note_change(start + 9ms);
  EXPECT_EQ(watches.due(), start + 14ms) << "two are not few";
}

TEST(task_watches, watchers_of_one_version_share_a_snapshot) {
  task_watches watches(2, 5ms);
  auto const first = watches.snapshot(0, 3, start, one_task);
  EXPECT_EQ(watches.snapshot(0, 3, start, one_task), first);
  EXPECT_NE(watches.snapshot(1, 3, start, one_task), first);
  EXPECT_NE(watches.snapshot(0, 4, start, one_task), first);
  EXPECT_TRUE(watches.just_delivered(0, 4, start + 4ms));
  EXPECT_FALSE(watches.just_delivered(0, 4, start + 5ms));
  watches.add(call_id{1}, true);
  EXPECT_EQ(watches.due(), start + 5ms) << "missed changes are reported when the interval is over";
}

TEST(alive_groups, is_complete_when_every_connected_task_has_asked) {
  alive_groups groups;
  auto const all_but_2 = [](task_index t) { return t != 2; };
  auto const g = groups.ask({0, 1, 2}, 0, call_id{1});
  EXPECT_FALSE(groups.take_if_complete(g, all_but_2));
  EXPECT_EQ(groups.ask({0, 1, 2}, 1, call_id{2}), g);
  auto const done = groups.take_if_complete(g, all_but_2);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->calls, (std::vector{call_id{1}, call_id{2}}));
  EXPECT_EQ(groups.waiting(), 0u);
  EXPECT_EQ(groups.violated_invariant(), "");
}

TEST(alive_groups, withdrawn_call_does_not_count) {
  alive_groups groups;
  auto const everybody = [](task_index) { return true; };
  auto const g = groups.ask({0, 1}, 0, call_id{1});
  groups.ask({0, 1}, 1, call_id{2});
  groups.withdraw(g, call_id{1});
  EXPECT_FALSE(groups.take_if_complete(g, everybody));
  ASSERT_EQ(groups.of(1).size(), 1u);
  groups.withdraw(g, call_id{2});
  EXPECT_TRUE(groups.all().empty());
}

TEST(device_exchange, gathers_devices_in_the_requested_order) {
  device_exchange devices(3);
  devices.bring(0, {blob("a")});
  devices.bring(2, {blob("c"), blob("d")});
  EXPECT_TRUE(devices.has(0));
  EXPECT_FALSE(devices.has(1));
  EXPECT_EQ(devices.count(2), 2u);
  EXPECT_EQ(devices.gathered(), nullptr);
  devices.gather({2, 1, 0});
  EXPECT_EQ(*devices.gathered(), (std::vector{blob("c"), blob("d"), blob("a")}));
}

}  // namespace groups_cases
}  // namespace muster::core::coordination
