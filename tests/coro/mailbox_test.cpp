#include "coro/mailbox.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <semaphore>
#include <thread>
#include <vector>

namespace muster::coro::test {
namespace {

TEST(mailbox, requests_one_wake_until_it_is_drained) {
  basic_mailbox<int> box(10);
  std::vector<int> out;
  EXPECT_TRUE(box.push(1));
  EXPECT_FALSE(box.push(2));
  box.drain(out);
  EXPECT_EQ(out, (std::vector{1, 2}));
  out.clear();
  EXPECT_TRUE(box.push(3));
}

TEST(mailbox, refuses_when_full_and_leaves_the_item_with_the_caller) {
  basic_mailbox<std::unique_ptr<int>> box(1);
  EXPECT_TRUE(box.push(std::make_unique<int>(1)).accepted);
  auto second = std::make_unique<int>(2);
  EXPECT_FALSE(box.push(std::move(second)).accepted);
  ASSERT_NE(second, nullptr);
  std::vector<std::unique_ptr<int>> out;
  box.drain(out);
  EXPECT_TRUE(box.push(std::move(second)).accepted);
}

TEST(mailbox, producer_waiting_for_room_continues_after_the_drain) {
  basic_mailbox<int> box(1);
  (void)box.push(1);
  std::atomic<bool> pushed = false;
  std::thread producer([&] {
    EXPECT_TRUE(box.push_wait(2).accepted);
    pushed = true;
  });
  std::vector<int> all;
  std::vector<int> out;
  while (all.size() < 2) {
    box.drain(out);
    all.insert(all.end(), out.begin(), out.end());
    out.clear();
    std::this_thread::yield();
  }
  producer.join();
  EXPECT_TRUE(pushed);
  EXPECT_EQ(all, (std::vector{1, 2}));
}

TEST(mailbox, closing_refuses_items_and_releases_a_waiting_producer) {
  basic_mailbox<int> box(1);
  (void)box.push(1);
  std::thread producer([&] { EXPECT_FALSE(box.push_wait(2).accepted); });
  box.close();
  producer.join();
  EXPECT_FALSE(box.push(3).accepted);
  std::vector<int> out;
  box.drain(out);
  EXPECT_EQ(out, (std::vector{1}));
}

TEST(mailbox, closes_only_when_no_item_and_no_wake_is_under_way) {
  basic_mailbox<int> box(1);
  (void)box.push(1);
  EXPECT_FALSE(box.close_if_idle());
  std::vector<int> out;
  box.drain(out);
  EXPECT_TRUE(box.close_if_idle());
  EXPECT_FALSE(box.push(2).accepted);
}

TEST(mailbox, loses_and_reorders_nothing_from_eight_threads) {
  constexpr int threads = 8;
  constexpr int items = 20'000;
  basic_mailbox<std::pair<int, int>> box(1'000);
  std::counting_semaphore<> wakes(0);
  std::vector<std::thread> producers;
  for (int t = 0; t < threads; ++t)
    producers.emplace_back([&, t] {
      for (int i = 0; i < items; ++i)
        if (box.push_wait({t, i})) wakes.release();
    });
  std::array<int, threads> next{};
  std::vector<std::pair<int, int>> out;
  int drains = 0;
  for (int seen = 0; seen < threads * items;) {
    wakes.acquire();
    box.drain(out);
    ++drains;
    for (auto [t, i] : out) EXPECT_EQ(i, next[t]++);
    seen += static_cast<int>(out.size());
    out.clear();
  }
  for (auto& p : producers) p.join();
  EXPECT_LT(drains, threads * items);
  EXPECT_TRUE(box.close_if_idle());
}

}  // namespace
}  // namespace muster::coro::test
