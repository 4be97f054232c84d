// The roster by itself: workers by stream and number, and that it can be saved.
#include "server/core/workers/worker_roster.hpp"

#include <gtest/gtest.h>

#include "tests/support/archive.hpp"

namespace muster::core {
namespace worker_roster_cases {

constexpr time_point t0{std::chrono::seconds(100)};

struct roster_test : testing::Test {
  config limits;
  server_wide wide{time_point{}}, other_wide{time_point{}};
  worker_roster roster{limits, wide};

  worker& attach(std::uint64_t stream, std::int64_t index) {
    worker_spec spec;
    spec.index = index;
    spec.incarnation = incarnation{stream};
    auto& row = **roster.tasks.admit(t0, spec, [](auto const&) { return 0; });
    auto& w = roster.add(stream_id{stream}, row);
    w.counted = true;
    roster.tasks.arrived(t0, row, spec);
    roster.serve(w);
    return w;
  }
};

TEST_F(roster_test, a_number_is_used_again_and_a_stream_is_not) {
  auto const first = attach(1, 0).number;
  attach(2, 1);
  auto& w = roster.of(first);
  EXPECT_EQ(w.stream, stream_id{1});
  roster.tasks.left(t0, *w.task, task_state::error, "gone");
  roster.erase(w);
  EXPECT_EQ(roster.find(stream_id{1}), nullptr);
  EXPECT_EQ(attach(3, 0).number, first);
  EXPECT_EQ(roster.invalid(), "");
}

TEST_F(roster_test, a_task_that_is_present_has_a_worker) {
  auto& w = attach(1, 0);
  EXPECT_EQ(roster.invalid(), "");
  w.away = true;
  EXPECT_NE(roster.invalid(), "") << "nobody waits for it";
}

TEST_F(roster_test, is_the_same_after_it_was_saved_and_loaded) {
  for (std::uint64_t i = 1; i <= 40; ++i) attach(i, static_cast<std::int64_t>(i));
  for (std::uint64_t i = 1; i <= 40; i += 3) {
    auto& w = *roster.find(stream_id{i});
    roster.tasks.left(t0, *w.task, task_state::disconnected, "left");
    roster.erase(w);
  }
  auto const bytes = archive::saved(roster);
  worker_roster other(limits, other_wide);
  ASSERT_TRUE(archive::load(other, bytes));
  EXPECT_EQ(other.invalid(), "");
  EXPECT_EQ(archive::saved(other), bytes);
  auto const order = [](worker_roster const& r) {
    std::vector<stream_id> out;
    for (auto const& [stream, w] : r.all()) out.push_back(stream);
    return out;
  };
  EXPECT_EQ(order(other), order(roster)) << "their order is behaviour";
  EXPECT_EQ(other.tasks.find("worker", 2)->worker, other.find(stream_id{2}));
}

}  // namespace worker_roster_cases
}  // namespace muster::core
