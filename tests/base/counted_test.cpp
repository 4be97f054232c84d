#include <gtest/gtest.h>

#include "base/text.hpp"

namespace muster {
namespace {

TEST(counted, singular_and_plural_follow_the_number) {
  EXPECT_EQ(counted(0, "closure"), "0 closures");
  EXPECT_EQ(counted(1, "closure"), "1 closure");
  EXPECT_EQ(counted(2, "closure"), "2 closures");
  EXPECT_EQ(counted(1, "entry", "entries"), "1 entry");
  EXPECT_EQ(counted(2, "entry", "entries"), "2 entries");
}

TEST(counted, large_numbers_have_thousands_separators) {
  EXPECT_EQ(counted(999, "byte"), "999 bytes");
  EXPECT_EQ(counted(1'000, "byte"), "1,000 bytes");
  EXPECT_EQ(with_thousands(1'234'567), "1,234,567");
}

}  // namespace
}  // namespace muster
