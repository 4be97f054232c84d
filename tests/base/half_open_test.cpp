#include "base/half_open.hpp"

#include <gtest/gtest.h>

#include <array>

namespace muster {
namespace {

struct connection {
  half_open_table<connection>::place place;
};

std::uint64_t network(std::array<unsigned char, 4> address) {
  return peer_network(address);
}

TEST(half_open, the_oldest_of_an_address_makes_room_for_its_next) {
  half_open_table<connection> table(2);
  std::array<connection, 4> c;
  c[0].place = table.add(c[0], 9);
  c[1].place = table.add(c[1], 7);
  EXPECT_EQ(table.surplus(7), nullptr);
  c[2].place = table.add(c[2], 7);
  EXPECT_EQ(table.surplus(7), &c[1]);
  EXPECT_EQ(table.surplus(9), nullptr);
  EXPECT_EQ(table.surplus(8), nullptr);
  table.remove(c[1].place);
  EXPECT_EQ(table.surplus(7), nullptr);
}

TEST(half_open, finds_the_oldest_connection) {
  half_open_table<connection> table(10);
  std::array<connection, 3> c;
  EXPECT_EQ(table.oldest(), nullptr);
  for (std::size_t i = 0; i < c.size(); ++i) c[i].place = table.add(c[i], i);
  EXPECT_EQ(table.oldest(), &c[0]);
  table.remove(c[0].place);
  table.remove(c[0].place);
  EXPECT_EQ(table.oldest(), &c[1]);
  EXPECT_EQ(table.size(), 2u);
  table.remove(c[2].place);
  table.remove(c[1].place);
  EXPECT_EQ(table.oldest(), nullptr);
}

TEST(half_open, network_is_an_ipv4_address_or_half_of_an_ipv6_address) {
  EXPECT_NE(network({127, 0, 0, 1}), network({127, 0, 0, 2}));
  std::array<unsigned char, 16> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 127, 0, 0, 1};
  EXPECT_EQ(peer_network(mapped), network({127, 0, 0, 1}));
  std::array<unsigned char, 16> a{0x20, 1, 0xd, 0xb8, 0, 0, 0, 1, 9};
  auto b = a;
  b[15] = 77;
  EXPECT_EQ(peer_network(a), peer_network(b));
  b[7] = 2;
  EXPECT_NE(peer_network(a), peer_network(b));
  std::array<unsigned char, 16> const loopback{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  EXPECT_NE(peer_network(loopback), network({0, 0, 0, 1}));
}

}  // namespace
}  // namespace muster
