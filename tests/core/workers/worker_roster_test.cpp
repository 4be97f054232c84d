// The roster by itself: workers by stream and number, and that it can be saved.
#include "server/core/workers/worker_roster.hpp"

#include <gtest/gtest.h>

namespace muster::core {
namespace worker_roster_cases {

constexpr time_point t0{std::chrono::seconds(100)};

struct roster_test : testing::Test {
  config limits;
  server_wide wide{time_point{}}, other_wide{time_point{}};
  changes told;
  worker_roster roster{limits, wide, told};

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

}  // namespace worker_roster_cases
}  // namespace muster::core
