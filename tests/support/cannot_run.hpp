// What a test does where the machine lacks something that it needs: a second network, IPv6. It is
// skipped and says why; under CI=true it fails, since there absence must not look like success.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace muster::test {

/// To be returned from SetUp or from the test's body.
inline void cannot_run(std::string const& why) {
  auto const* const ci = std::getenv("CI");
  if (ci && std::string_view(ci) == "true") FAIL() << "CI cannot run it: " << why;
  GTEST_SKIP() << why;
}

}  // namespace muster::test
