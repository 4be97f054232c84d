#include "server/core/sessions/request_ledger.hpp"

#include <gtest/gtest.h>

namespace muster::core {
namespace {

TEST(request_ledger, forget_returns_the_request_of_its_last_closure) {
  request_ledger l;
  l.add({0, 2});
  l.add({2, 3}, 1);  // one of its closures was already forgotten
  EXPECT_FALSE(l.forget(1));
  EXPECT_FALSE(l.forget(4));
  EXPECT_TRUE(l.has(0));
  EXPECT_TRUE(l.has(4));
  EXPECT_FALSE(l.has(5)) << "behind the last request";
  auto const first = l.forget(0);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->first, 0u);
  EXPECT_EQ(first->size, 2u);
  EXPECT_FALSE(l.has(0));
  auto const second = l.forget(2);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->first, 2u);
  EXPECT_EQ(second->size, 3u);
  EXPECT_EQ(l.size(), 0u);
}

TEST(request_ledger, positions_wrap_and_skip_occupied_ranges) {
  constexpr std::uint32_t last = ~0u;
  request_ledger l;
  EXPECT_EQ(l.room_from(last - 2, 3), last - 2) << "up to the very last";
  EXPECT_EQ(l.room_from(last - 2, 4), 0u) << "no request crosses the end";
  l.add({0, 10});
  l.add({12, 5});
  EXPECT_EQ(l.room_from(last, 2), 10u);
  EXPECT_EQ(l.room_from(last, 3), 17u);
  EXPECT_EQ(l.room_from(3, 1), 10u);
  EXPECT_EQ(l.room_from(11, 1), 11u);
  EXPECT_EQ(l.room_from(11, 2), 17u);
  l.add({last - 1, 2});
  EXPECT_EQ(l.room_from(last, 2), 10u) << "a request that ends with the last position";
}

}  // namespace
}  // namespace muster::core
