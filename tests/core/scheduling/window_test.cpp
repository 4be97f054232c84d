// The window: the number of closures that a worker is sent beyond its slots.
#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

names many(std::size_t n) {
  return names(n, "f");
}

TEST(window, nothing_is_prefetched_before_a_worker_has_proved_fast) {
  cluster c;
  auto const w = c.attach({.slots = 2, .credits = 16});
  c.open(many(10));
  EXPECT_EQ(c.held(w).size(), 2u);
}

TEST(window, doubles_up_to_the_credits_while_closures_finish_quickly) {
  cluster c;
  auto const w = c.attach({.slots = 2, .credits = 11});
  auto const job = c.open(many(100));
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < 5; ++i) {
    c.wait(1ms);
    c.succeed(w, job[i]);
    sizes.push_back(c.held(w).size());
  }
  // The worker is sent more when half of its window is answered.
  EXPECT_EQ(sizes, (std::vector<std::size_t>{4, 8, 7, 6, 11}));
}

TEST(window, full_worker_is_refilled_when_half_of_its_window_is_answered) {
  cluster c;
  auto const w = c.attach({.slots = 1, .credits = 8});
  auto const job = c.open(many(100));
  std::size_t next = 0;
  while (c.held(w).size() < 8) c.succeed(w, job[next++]);
  std::vector<std::size_t> sizes;
  for (int i = 0; i < 8; ++i) {
    c.succeed(w, job[next++]);
    sizes.push_back(c.held(w).size());
  }
  EXPECT_EQ(sizes, (std::vector<std::size_t>{7, 6, 5, 8, 7, 6, 5, 8}));
}

TEST(window, halves_down_to_the_slots_while_closures_are_slow) {
  cluster c;
  auto const w = c.attach({.slots = 2, .credits = 16});
  auto const job = c.open(many(100));
  for (std::size_t i = 0; i < 3; ++i) c.succeed(w, job[i]);
  ASSERT_EQ(c.held(w).size(), 16u);
  c.wait(1s);
  std::vector<std::size_t> sizes;
  for (std::size_t i = 3; i < 24; ++i) {
    c.succeed(w, job[i]);
    c.wait(1s);
    sizes.push_back(c.held(w).size());
  }
  // No closure is sent until the window has room, then one for each that ends.
  EXPECT_EQ(sizes.at(12), 3u);
  EXPECT_EQ(sizes.at(13), 2u);
  EXPECT_EQ(sizes.back(), 2u);
}

TEST(window, grows_again_after_the_slowest_closures) {
  cluster c;
  auto const w = c.attach({.slots = 2, .credits = 16});
  auto const job = c.open(many(100));
  for (std::size_t i = 0; i < 10; ++i) {
    c.wait(1s);
    c.succeed(w, job[i]);
  }
  ASSERT_EQ(c.held(w).size(), 2u);
  c.answer(w, {c.good(w, job[10]), c.good(w, job[11])});  // the last closure was sent just now
  EXPECT_EQ(c.held(w).size(), 4u);
}

TEST(window, is_unchanged_for_closures_that_are_neither_fast_nor_slow) {
  for (auto const took : {10ms, 50ms}) {
    cluster c;
    auto const w = c.attach({.slots = 1, .credits = 16});
    auto const job = c.open(many(100));
    c.succeed(w, job[0]);
    ASSERT_EQ(c.held(w).size(), 2u);
    c.wait(took);
    c.answer(w, {c.good(w, job[1]), c.good(w, job[2])});
    EXPECT_EQ(c.held(w).size(), 2u);
  }
}

TEST(window, idle_slots_of_others_come_before_prefetching) {
  cluster c;
  auto const quick = c.attach({.slots = 1, .credits = 16});
  auto const job = c.open(many(1), left_open());
  c.succeed(quick, job[0]);  // widens its window to 2
  auto const other = c.attach({.slots = 2, .credits = 2});
  auto const more = c.append(job.id, many(4));
  EXPECT_EQ(c.held(quick), closures({more[0], more[3]}));
  EXPECT_EQ(c.held(other), closures({more[1], more[2]}));
}

TEST(window, an_empty_message_of_results_is_only_a_sign_of_life) {
  cluster c;
  auto const w = c.attach({.slots = 1, .credits = 16});
  c.open(many(10));
  c.answer(w, {});
  EXPECT_EQ(c.held(w).size(), 1u);
}

}  // namespace
}  // namespace muster::core
