#include "base/utf8.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(utf8, distinguishes_valid_from_invalid_text) {
  for (char const* good : {"", "abc", "ä", "€", "𝄞", "\xED\x9F\xBF", "\xF4\x8F\xBF\xBF"})
    EXPECT_TRUE(is_utf8(good)) << good;
  for (char const* bad : {"\x80", "\xC0\x80", "\xC3", "\xE0\x80\x80", "\xED\xA0\x80",
                          "\xF4\x90\x80\x80", "\xF8", "a\xFFz", "\xE2\x82"})
    EXPECT_FALSE(is_utf8(bad)) << bad;
}

TEST(utf8, replaces_invalid_bytes) {
  EXPECT_EQ(to_utf8("a\xFFz"), "a\xEF\xBF\xBDz");
  EXPECT_EQ(to_utf8("\xE2\x82"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(to_utf8("ä€"), "ä€");
}

TEST(utf8, is_cut_between_characters) {
  std::string const text = "aä€😀b";  // 1, 2, 3, 4 and 1 bytes
  std::size_t const borders[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10};
  for (std::size_t at = 0; at < std::size(borders); ++at)
    EXPECT_EQ(utf8_boundary(text, at), borders[at]) << at;
}

}  // namespace
}  // namespace muster
