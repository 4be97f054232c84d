#include "server/core/api/blob.hpp"

#include <gtest/gtest.h>

#include <utility>

#include "tests/core/printers.hpp"

namespace muster::core {
namespace {

TEST(blob, default_blob_is_null_and_empty_bytes_are_a_value) {
  blob const nothing;
  blob const empty("");
  EXPECT_FALSE(nothing);
  EXPECT_TRUE(empty);
  EXPECT_EQ(nothing.view(), "");
  EXPECT_EQ(empty.view(), "");
  EXPECT_EQ(nothing.size(), 0u);
  EXPECT_EQ(empty.size(), 0u);
  EXPECT_NE(nothing, empty);
  EXPECT_EQ(nothing, blob());
  EXPECT_EQ(empty, blob(""));
}

TEST(blob, copies_share_one_run_of_bytes) {
  blob const first("some bytes");
  blob const second = first;
  EXPECT_EQ(second.view().data(), first.view().data());
  EXPECT_EQ(second, first);
}

TEST(blob, a_copy_outlives_the_original) {
  blob copy;
  {
    blob const original("kept");
    copy = original;
  }
  EXPECT_EQ(copy.view(), "kept");
}

TEST(blob, moving_leaves_nothing_behind) {
  blob from("moved");
  blob const to = std::move(from);
  EXPECT_EQ(to.view(), "moved");
  EXPECT_FALSE(from);  // NOLINT(bugprone-use-after-move): that is the question
}

TEST(blob, assigning_to_itself_changes_nothing) {
  blob b("same");
  auto const& alias = b;
  b = alias;
  EXPECT_EQ(b.view(), "same");
}

TEST(blob, copies_keep_the_encoding) {
  blob const json("1");
  blob const bytes("1", encoding::bytes);
  EXPECT_EQ(json.encoding(), encoding::json);
  EXPECT_EQ(bytes.encoding(), encoding::bytes);
  EXPECT_EQ(blob().encoding(), encoding::json);
  EXPECT_EQ(blob(bytes).encoding(), encoding::bytes);
  EXPECT_EQ(bytes.size(), 1u);
  EXPECT_NE(json, bytes);
}

TEST(blob, different_bytes_are_different) {
  EXPECT_NE(blob("a"), blob("b"));
  EXPECT_NE(blob("a"), blob("aa"));
  std::string const with_zero("a\0b", 3);
  EXPECT_EQ(blob(with_zero).view(), with_zero);
}

}  // namespace
}  // namespace muster::core
