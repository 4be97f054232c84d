#include "server/rpc/proxied_peers.hpp"

#include <gtest/gtest.h>

namespace muster::server {
namespace {

TEST(proxied_peers, map_to_the_client_behind_the_proxy) {
  proxied_peers all;
  EXPECT_EQ(all.client_of("10.0.0.9:1"), "10.0.0.9:1");
  all.accepted(7, "10.0.0.9:1", "192.168.7.7:4711");
  EXPECT_EQ(all.client_of("10.0.0.9:1"), "192.168.7.7:4711");
  EXPECT_EQ(all.client_of("10.0.0.9:2"), "10.0.0.9:2");
  // The relay's port is reused for a connection of its own.
  all.accepted(8, "10.0.0.9:1", "10.0.0.9:1");
  EXPECT_EQ(all.client_of("10.0.0.9:1"), "10.0.0.9:1");
}

TEST(proxied_peers, are_forgotten_with_their_descriptor) {
  proxied_peers all;
  all.accepted(7, "10.0.0.9:1", "192.168.7.7:4711");
  all.accepted(7, "10.0.0.9:2", "192.168.7.8:4711");
  EXPECT_EQ(all.client_of("10.0.0.9:1"), "10.0.0.9:1");
  EXPECT_EQ(all.client_of("10.0.0.9:2"), "192.168.7.8:4711");
  // The same peer on another descriptor remains when the first descriptor is reused.
  all.accepted(8, "10.0.0.9:2", "192.168.7.9:4711");
  all.accepted(7, "10.0.0.5:1", "10.0.0.5:1");
  EXPECT_EQ(all.client_of("10.0.0.9:2"), "192.168.7.9:4711");
}

}  // namespace
}  // namespace muster::server
