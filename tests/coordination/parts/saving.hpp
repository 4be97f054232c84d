// What holds for each part of the coordination core: it is walked completely.
#pragma once

#include <gtest/gtest.h>

#include "tests/support/archive.hpp"

namespace muster::core::coordination {

/// Saves `part`, loads it into `fresh`, and saves that again: it must be the same to the byte.
/// REQUIRES: `fresh` was made with the same arguments as `part`.
template <class Part>
void expect_saved_whole(Part const& part, Part& fresh) {
  auto const bytes = archive::saved(part);
  ASSERT_NE(archive::saved(fresh), bytes) << "nothing in it worth saving";
  ASSERT_TRUE(archive::load(fresh, bytes));
  EXPECT_EQ(archive::saved(fresh), bytes);
  auto const cut = bytes.substr(0, bytes.size() - 1);
  Part& broken = fresh;
  EXPECT_FALSE(archive::load(broken, cut));
  ASSERT_TRUE(archive::load(fresh, bytes));
}

}  // namespace muster::core::coordination
