#include "base/no_room.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(no_room, is_recognised_by_its_mark) {
  auto const full = no_room("/data", "12 MiB are free");
  EXPECT_EQ(full.code, code::resource_exhausted);
  EXPECT_EQ(full.message, "no space left in /data: 12 MiB are free");
  EXPECT_TRUE(is_no_room(full));
  auto reworded = full;
  reworded.message = "another text";
  EXPECT_TRUE(is_no_room(reworded));
  EXPECT_FALSE(is_no_room({code::resource_exhausted, full.message}));
}

}  // namespace
}  // namespace muster
