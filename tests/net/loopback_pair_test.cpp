#include "server/net/loopback_pair.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

namespace muster::net {
namespace {

TEST(loopback_pair, is_one_connection_whose_ends_do_not_block) {
  auto const made = loopback_pair();
  ASSERT_TRUE(made) << made.error().message;
  char c = 0;
  EXPECT_EQ(::recv(made->served.get(), &c, 1, 0), -1);
  EXPECT_EQ(errno, EAGAIN);
  pollfd connected{made->dialled.get(), POLLOUT, 0};
  ASSERT_EQ(::poll(&connected, 1, 10'000), 1);
  ASSERT_EQ(::send(made->dialled.get(), "x", 1, 0), 1);
  pollfd readable{made->served.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&readable, 1, 10'000), 1);
  EXPECT_EQ(::recv(made->served.get(), &c, 1, 0), 1);
  EXPECT_EQ(c, 'x');
}

}  // namespace
}  // namespace muster::net
