// A single network is tested in gate_test.cpp.
#include "server/hub/access/networks.hpp"

#include <gtest/gtest.h>

namespace muster::server {
namespace {

TEST(networks, number_of_networks_is_limited) {
  std::vector<std::string> all(networks_max, "10.0.0.0/8");
  auto const parsed = parse_networks(all);
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(any_contains(*parsed, "10.1.2.3"));
  EXPECT_FALSE(any_contains(*parsed, "11.1.2.3"));
  all.push_back("fd00::/8");
  EXPECT_EQ(parse_networks(all).error().message, "65 networks, the limit is 64");
  EXPECT_EQ(
      parse_networks({"10.0.0.1", "10.0.0.0/33"}).error().message,
      "'10.0.0.0/33' is not a network; use, for example, 10.0.0.0/8, 192.168.1.7 or fd00::/8");
}

}  // namespace
}  // namespace muster::server
