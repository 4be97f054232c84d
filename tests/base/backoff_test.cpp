#include "base/backoff.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using std::chrono::milliseconds;

TEST(backoff, doubles_with_jitter_up_to_the_limit) {
  backoff b(milliseconds(100), milliseconds(5000), 1);
  for (int whole : {100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000}) {
    auto const pause = b.next();
    EXPECT_GE(pause, milliseconds(whole / 2));
    EXPECT_LE(pause, milliseconds(whole));
  }
  b.reset();
  EXPECT_LE(b.next(), milliseconds(100));
}

TEST(backoff, differs_from_worker_to_worker) {
  backoff a(milliseconds(1000), milliseconds(5000), 1);
  backoff b(milliseconds(1000), milliseconds(5000), 2);
  int same = 0;
  for (int i = 0; i < 8; ++i) same += a.next() == b.next() ? 1 : 0;
  EXPECT_LT(same, 8);
}

}  // namespace
}  // namespace muster
