#include "server/hub/lost_names.hpp"

#include <gtest/gtest.h>

namespace muster::server {
namespace {

using namespace std::chrono_literals;

core::closure_id const one{1}, other{2};
core::time_point const now{1'000s};

TEST(LostNames, ReferToRecomputedValues) {
  lost_names names;
  names.add("a", one);
  names.add("b", other);
  EXPECT_TRUE(names.is_missing("a"));
  EXPECT_EQ(names.current("a"), "a");
  names.made_again(one, "a2");
  EXPECT_EQ(names.current("a"), "a2");
  EXPECT_FALSE(names.is_missing("a"));
  EXPECT_TRUE(names.is_missing("b"));
  EXPECT_EQ(names.current("x"), "x") << "never lost";
  EXPECT_FALSE(names.is_missing("x"));
}

TEST(LostNames, ReferToTheNewestValueEvenIfItIsLostAgain) {
  lost_names names;
  names.add("a", one);
  names.made_again(one, "a2");
  names.add("a2", one);
  EXPECT_EQ(names.current("a"), "a2");
  EXPECT_TRUE(names.is_missing("a2"));
  names.made_again(one, "a3");
  EXPECT_EQ(names.current("a"), "a3");
  EXPECT_EQ(names.current("a2"), "a3");
}

TEST(LostNames, RerunTheirClosureAtMostOncePerInterval) {
  lost_names names;
  names.add("a", one);
  EXPECT_EQ(names.ask("a", now), one);
  EXPECT_EQ(names.ask("a", now + 9min), std::nullopt);
  EXPECT_EQ(names.ask("a", now + 10min), one);
  names.made_again(one, "a2");
  EXPECT_EQ(names.ask("a", now + 30min), std::nullopt);
  EXPECT_EQ(names.ask("x", now), std::nullopt);
}

TEST(LostNames, OldestNamesBeyondTheLimitAreRemoved) {
  lost_names names(2);
  names.add("a", one);
  names.add("a2", one);
  names.add("a2", one);
  EXPECT_TRUE(names.is_missing("a")) << "no name counts twice";
  names.add("b", other);
  EXPECT_FALSE(names.is_missing("a"));
  EXPECT_TRUE(names.is_missing("a2") && names.is_missing("b"));
  names.made_again(one, "a3");
  EXPECT_EQ(names.current("a"), "a");
  EXPECT_EQ(names.current("a2"), "a3");
}

}  // namespace
}  // namespace muster::server
