#include "tests/core/objects/bench.hpp"

namespace muster::core::objects {
namespace {

/// Objects on ps:0 and the calls of their methods.
struct circle : table_bench {
  session_id const s = open(1);
  stream_id const at = attach(0, 7, 70);
  std::vector<object_id> ids{};

  explicit circle(std::size_t n, std::uint32_t concurrency = 1) {
    for (std::uint64_t i = 0; i < n; ++i) {
      auto of = spec("o" + std::to_string(i));
      of.concurrency = concurrency;
      ids.push_back(ready(s, at, 100 + i, of));
    }
  }
  call_name outer(std::uint64_t number, std::size_t of) {
    call(s, number, ids[of]);
    return name(s, number);
  }
  /// Calls from the worker that has the objects.
  call_name inner(std::uint64_t number, std::size_t of) {
    auto const who = caller_of(incarnation{7});
    table.call(who, s, {number, ids[of], "get", {}});
    return {who, number};
  }
  /// Returns the calls that failed because of a cycle.
  std::vector<call_name> circles() {
    std::vector<call_name> found;
    for (auto const& a : pending_output().answers)
      if (a.why.type == "muster.CycleError") found.push_back(a.name);
    return found;
  }
};

TEST(object_cycles, object_that_waits_for_itself_is_a_cycle) {
  circle c(1);
  auto const first = c.outer(1, 0);
  auto const second = c.inner(1, 0);
  EXPECT_TRUE(c.circles().empty()) << "a call is not a wait";
  c.table.waits(c.at, first, second);
  EXPECT_EQ(c.circles(), std::vector<call_name>{second});
}

TEST(object_cycles, three_objects_in_a_ring_are_a_cycle) {
  circle c(3);
  auto const a = c.outer(1, 0);
  auto const b = c.inner(1, 1);
  c.table.waits(c.at, a, b);
  auto const d = c.inner(2, 2);
  c.table.waits(c.at, b, d);
  auto const back = c.inner(3, 0);
  EXPECT_TRUE(c.circles().empty());
  c.table.waits(c.at, d, back);
  EXPECT_EQ(c.circles(), std::vector<call_name>{back});
}

TEST(object_cycles, two_callers_waiting_for_each_other_are_a_cycle) {
  circle c(2);
  auto const a = c.outer(1, 0), b = c.outer(2, 1);
  auto const to_b = c.inner(1, 1), to_a = c.inner(2, 0);
  c.table.waits(c.at, a, to_b);
  EXPECT_TRUE(c.circles().empty()) << "the call executed at b can end";
  c.table.waits(c.at, b, to_a);
  EXPECT_EQ(c.circles(), std::vector<call_name>{to_a});
}

TEST(object_cycles, free_concurrency_slot_prevents_a_cycle) {
  circle c(1, 2);
  auto const first = c.outer(1, 0);
  auto const second = c.inner(1, 0);
  c.table.waits(c.at, first, second);
  EXPECT_TRUE(c.circles().empty());
  auto const third = c.inner(2, 0);
  c.table.waits(c.at, second, third);
  EXPECT_EQ(c.circles(), std::vector<call_name>{third}) << "both wait for a third";
}

TEST(object_cycles, finished_wait_is_ignored) {
  circle c(2);
  auto const a = c.outer(1, 0);
  auto const to_b = c.inner(1, 1);
  c.table.waits(c.at, a, to_b);
  c.answer(c.at, c.ids[1], to_b);
  auto const b = c.outer(2, 1);
  auto const to_a = c.inner(2, 0);
  c.table.waits(c.at, b, to_a);
  EXPECT_TRUE(c.circles().empty());
}

TEST(object_cycles, waits_reported_by_other_workers_are_ignored) {
  circle c(1);
  auto const other = c.attach(1, 8, 80);
  auto const first = c.outer(1, 0);
  auto const second = c.inner(1, 0);
  c.table.waits(other, first, second);
  EXPECT_TRUE(c.circles().empty()) << "its object is not there";
}

}  // namespace
}  // namespace muster::core::objects
