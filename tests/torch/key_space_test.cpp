#include "server/torch/key_space.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tests/torch/key_model.hpp"

namespace muster::torch {
namespace {

using namespace std::chrono_literals;
using texts = std::vector<std::string_view>;

struct store {
  usage all;
  std::vector<waiter*> woken;
  key_space keys{[this](waiter& w) { woken.push_back(&w); }, all};
  core::time_point now{};
};

TEST(torch_keys, add_counts_in_decimal_digits_and_wraps) {
  store s;
  EXPECT_EQ(s.keys.add("n", 5), 5);
  EXPECT_EQ(*s.keys.find("n"), "5");
  EXPECT_EQ(s.keys.add("n", std::numeric_limits<std::int64_t>::max()),
            std::numeric_limits<std::int64_t>::min() + 4);
  s.keys.set("n", "7x");
  EXPECT_EQ(s.keys.add("n", 1), 8);
  for (auto const* bad : {"", "x7", "-", "99999999999999999999"}) {
    s.keys.set("n", bad);
    EXPECT_FALSE(s.keys.add("n", 1)) << bad;
  }
}

TEST(torch_keys, compare_set_returns_the_expected_value_of_an_absent_key) {
  store s;
  EXPECT_EQ(s.keys.compare_set("k", "old", "new"), "old");
  EXPECT_EQ(s.keys.find("k"), nullptr);
  EXPECT_EQ(s.keys.compare_set("k", "", "new"), "new");
  EXPECT_EQ(s.keys.compare_set("k", "old", "newer"), "new");
  EXPECT_EQ(s.keys.compare_set("k", "new", "newer"), "newer");
}

TEST(torch_keys, key_satisfies_a_wait_even_if_it_is_deleted_later) {
  store s;
  waiter w;
  EXPECT_FALSE(s.keys.wait(w, texts{"a", "b", "a"}, s.now));
  s.keys.set("a", "");
  s.keys.erase("a");
  EXPECT_TRUE(w.waits());
  std::vector<std::string> left;
  w.each_key([&](auto key) { left.emplace_back(key); });
  EXPECT_EQ(left, std::vector<std::string>{"b"});
  s.keys.append("b", "x");
  EXPECT_EQ(s.woken, std::vector<waiter*>{&w});
  EXPECT_FALSE(w.waits());
  EXPECT_EQ(s.keys.invalid(), "");
}

TEST(torch_keys, pushed_value_wakes_one_waiter) {
  store s;
  waiter first, second;
  s.keys.wait(first, texts{"q"}, s.now);
  s.keys.wait(second, texts{"q"}, s.now);
  s.keys.push("q", "x");
  EXPECT_EQ(s.woken, std::vector<waiter*>{&first});
  EXPECT_TRUE(s.keys.is_there("q"));
  EXPECT_EQ(s.keys.all().size(), 0u);
  EXPECT_FALSE(s.keys.erase("q"));
  EXPECT_EQ(s.keys.pop("q"), "x");
  EXPECT_FALSE(s.keys.is_there("q"));
  s.keys.withdraw(second);
  EXPECT_EQ(s.keys.invalid(), "");
}

TEST(torch_keys, barrier_releases_all_when_the_last_arrives) {
  store s;
  waiter a, b, c, late;
  EXPECT_EQ(s.keys.arrive(a, "b", 3, s.now), false);
  EXPECT_EQ(s.keys.arrive(b, "b", 3, s.now), false);
  EXPECT_TRUE(a.at_barrier());
  EXPECT_EQ(s.keys.arrive(c, "b", 3, s.now), true);
  EXPECT_EQ(s.woken, (std::vector<waiter*>{&a, &b}));
  EXPECT_EQ(s.keys.arrive(late, "b", 3, s.now), true);
  EXPECT_EQ(*s.keys.find("b"), "4");
}

TEST(torch_keys, keys_match_a_model) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    auto const pick = [&](unsigned n) { return static_cast<int>(random() % n); };
    auto const a_key = [&] { return "k" + std::to_string(pick(5)); };
    store s;
    key_model m;
    std::vector<std::unique_ptr<waiter>> waiters;
    for (int i = 0; i < 6; ++i) waiters.push_back(std::make_unique<waiter>());
    for (int step = 0; step < 400; ++step) {
      auto const key = a_key();
      auto const value = std::to_string(pick(3));
      switch (pick(9)) {
        case 0:
          s.keys.set(key, value);
          m.set(key, value);
          break;
        case 1:
          ASSERT_EQ(s.keys.add(key, 2), m.add(key, 2));
          break;
        case 2: {
          auto const desired = std::to_string(pick(9));
          ASSERT_EQ(s.keys.compare_set(key, value, desired), m.compare_set(key, value, desired));
          break;
        }
        case 3:
          ASSERT_EQ(s.keys.erase(key), m.erase(key));
          break;
        case 4:
          if (m.keys.contains(key) && m.keys[key].size() > 6) break;  // keeps numbers numeric
          s.keys.append(key, value);
          m.append(key, value);
          break;
        case 5:
          s.keys.push(key, value);
          m.push(key, value);
          break;
        case 6:
          ASSERT_EQ(s.keys.length(key), m.length(key));
          if (m.length(key) == 0) break;
          ASSERT_EQ(s.keys.pop(key), m.pop(key));
          break;
        case 7: {
          auto const who = static_cast<std::size_t>(pick(6));
          s.keys.withdraw(*waiters[who]);
          m.leave(who);
          std::vector<std::string> wanted;
          for (int i = pick(4); i > 0; --i) wanted.push_back(a_key());
          texts const views(wanted.begin(), wanted.end());
          ASSERT_EQ(s.keys.wait(*waiters[who], views, s.now), m.wait(who, wanted));
          break;
        }
        default: {
          auto const who = static_cast<std::size_t>(pick(6));
          s.keys.withdraw(*waiters[who]);
          m.leave(who);
        }
      }
      ASSERT_EQ(s.keys.invalid(), "");
      ASSERT_TRUE(
          std::equal(s.keys.all().begin(), s.keys.all().end(), m.keys.begin(), m.keys.end()));
      // A waiter that waits for a key twice may be woken after one that waits once.
      std::multiset<waiter*> woken(s.woken.begin(), s.woken.end()), expected;
      for (auto const w : m.woken) expected.insert(waiters[w].get());
      ASSERT_EQ(woken, expected);
    }
    for (auto& w : waiters) s.keys.withdraw(*w);
  }
}

}  // namespace
}  // namespace muster::torch
