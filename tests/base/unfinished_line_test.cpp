#include "base/unfinished_line.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr char bar[] = "\x1b[?7lbar\x1b[?7h\r";

TEST(unfinished_line, is_replaced_by_the_next_line_of_its_source) {
  unfinished_line last;
  EXPECT_EQ(last.show("a", "bar", false), bar);
  EXPECT_EQ(last.show("a", "bar", false), std::string("\x1b[K") + bar);
  EXPECT_EQ(last.show("a", "end", true), "\x1b[Kend\n");
  EXPECT_EQ(last.show("a", "next", true), "next\n");
  EXPECT_EQ(last.end(), "");
}

TEST(unfinished_line, stays_above_a_line_of_another_source) {
  unfinished_line last;
  EXPECT_EQ(last.show("a", "bar", false), bar);
  EXPECT_EQ(last.show("b", "bar", false), std::string("\n") + bar);
  EXPECT_EQ(last.show("a", "end", true), "\nend\n");
  EXPECT_EQ(last.show("b", "bar", false), bar);
  EXPECT_EQ(last.end(), "\n");
  EXPECT_EQ(last.end(), "");
}

TEST(unfinished_line, is_shown_once_below_a_line_of_another_source) {
  unfinished_line last;
  EXPECT_EQ(last.show("a", "bar", false), bar);
  EXPECT_EQ(last.show("b", "bar", false), std::string("\n") + bar);
  EXPECT_EQ(last.show("a", "bar", false), "");
  EXPECT_EQ(last.show("b", "end", true), "\x1b[Kend\n");
  EXPECT_EQ(last.show("a", "bar", false), bar);
}

TEST(unfinished_line, of_a_source_beyond_the_limit_is_shown_when_it_ends) {
  unfinished_line last;
  for (std::size_t i = 0; i < unfinished_line::sources_max; ++i)
    EXPECT_NE(last.show(std::to_string(i), "bar", false), "");
  EXPECT_EQ(last.show("one more", "bar", false), "");
  EXPECT_EQ(last.show("one more", "end", true), "\nend\n");
}

}  // namespace
}  // namespace muster
