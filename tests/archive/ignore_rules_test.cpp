#include "base/archive/ignore_rules.hpp"

#include <gtest/gtest.h>

namespace muster::test {
namespace {

ignore_rules rules(std::string_view lines) {
  ignore_rules r;
  r.add("", lines);
  return r;
}

TEST(ignore_rules, name_without_a_slash_matches_at_any_depth) {
  auto const r = rules("*.o\nbuild\n");
  EXPECT_TRUE(r.ignore("a.o", false));
  EXPECT_TRUE(r.ignore("x/y/a.o", false));
  EXPECT_TRUE(r.ignore("x/build", true));
  EXPECT_TRUE(r.ignore("x/build", false));
  EXPECT_FALSE(r.ignore("a.cpp", false));
  EXPECT_FALSE(r.ignore("builder", true));
}

TEST(ignore_rules, a_slash_ties_to_the_directory_of_the_file) {
  auto const r = rules("/out\ndocs/*.pdf\n");
  EXPECT_TRUE(r.ignore("out", true));
  EXPECT_FALSE(r.ignore("x/out", true));
  EXPECT_TRUE(r.ignore("docs/a.pdf", false));
  EXPECT_FALSE(r.ignore("docs/x/a.pdf", false)) << "a star does not match a slash";
  EXPECT_FALSE(r.ignore("x/docs/a.pdf", false));
}

TEST(ignore_rules, a_slash_at_the_end_is_for_directories) {
  auto const r = rules("data/\n");
  EXPECT_TRUE(r.ignore("data", true));
  EXPECT_TRUE(r.ignore("x/data", true));
  EXPECT_FALSE(r.ignore("data", false));
}

TEST(ignore_rules, two_stars_are_any_number_of_directories) {
  auto const r = rules("**/cache\na/**/z\nlogs/**\n");
  EXPECT_TRUE(r.ignore("cache", true));
  EXPECT_TRUE(r.ignore("x/y/cache", true));
  EXPECT_TRUE(r.ignore("a/z", false));
  EXPECT_TRUE(r.ignore("a/b/c/z", false));
  EXPECT_TRUE(r.ignore("logs/x", false));
  EXPECT_FALSE(r.ignore("logs", true)) << "itself is not inside";
}

TEST(ignore_rules, last_matching_rule_decides) {
  auto const r = rules("*.log\n!keep.log\n");
  EXPECT_TRUE(r.ignore("a.log", false));
  EXPECT_FALSE(r.ignore("keep.log", false));
  EXPECT_TRUE(rules("!keep.log\n*.log\n").ignore("keep.log", false));
}

TEST(ignore_rules, comments_blanks_and_escapes_are_as_in_git) {
  auto const r = rules("# no\n\n\\#yes\n\\!also\nspace  \nkept\\ \nrange[0-9]\none?\r\n/\n!\n");
  EXPECT_FALSE(r.ignore("# no", false));
  EXPECT_TRUE(r.ignore("#yes", false));
  EXPECT_TRUE(r.ignore("!also", false));
  EXPECT_TRUE(r.ignore("space", false));
  EXPECT_TRUE(r.ignore("kept ", false));
  EXPECT_TRUE(r.ignore("range7", false));
  EXPECT_FALSE(r.ignore("rangex", false));
  EXPECT_TRUE(r.ignore("one1", false));
  EXPECT_FALSE(r.ignore("anything", false));
}

TEST(ignore_rules, brackets_follow_fnmatch) {
  auto const r = rules("*.[^p]*\n[[:digit:]]x\n[]a]\nz[^^]\n[b\\]]c\n[[:punct:]]y\n");
  for (auto const* yes : {"a.c", "5x", "]", "a", "zx", "]c", "bc", "]y", "-y"})
    EXPECT_TRUE(r.ignore(yes, false)) << yes;
  for (auto const* no : {"a.py", "ax", "z^", "xc", "yy"}) EXPECT_FALSE(r.ignore(no, false)) << no;
}

TEST(ignore_rules, of_a_directory_apply_only_below_it) {
  auto r = rules("*.tmp\n");
  auto const known = r.size();
  r.add("x/y", "/only\n!*.tmp\n");
  EXPECT_TRUE(r.ignore("x/y/only", false));
  EXPECT_FALSE(r.ignore("only", false));
  EXPECT_FALSE(r.ignore("x/y/a.tmp", false));
  EXPECT_TRUE(r.ignore("x/a.tmp", false));
  r.shrink(known);
  EXPECT_FALSE(r.ignore("x/y/only", false));
}

}  // namespace
}  // namespace muster::test
