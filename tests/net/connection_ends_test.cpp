// The end of a connection with a second reader is reported once, and only for that connection.
#include "server/net/connection_ends.hpp"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <condition_variable>
#include <deque>

#include "server/net/incoming.hpp"

namespace muster::net {
namespace {

using boost::asio::ip::tcp;
using namespace std::chrono_literals;

struct connection_ends_test : testing::Test {
  boost::asio::io_context context;
  tcp::acceptor acceptor{context, {boost::asio::ip::address_v4::loopback(), 0}};
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::uint64_t> told;
  connection_ends ends{[this](std::uint64_t watch) {
    std::lock_guard const lock(mutex);
    told.push_back(watch);
    changed.notify_one();
  }};

  struct pair {
    tcp::socket client, server;
    std::string peer() const { return text_of(server.remote_endpoint()); }
  };
  pair connect() {
    tcp::socket client(context);
    client.connect(acceptor.local_endpoint());
    return {std::move(client), acceptor.accept()};
  }
  // Returns the next reported number, or 0 after ten seconds.
  std::uint64_t next() {
    std::unique_lock lock(mutex);
    if (!changed.wait_for(lock, 10s, [this] { return !told.empty(); })) return 0;
    auto const watch = told.front();
    told.pop_front();
    return watch;
  }
};

TEST_F(connection_ends_test, close_by_the_peer_is_reported_without_a_read) {
  auto a = connect(), b = connect();
  auto const first = ends.watch(a.server.native_handle(), a.peer());
  auto const second = ends.watch(b.server.native_handle(), b.peer());
  ASSERT_NE(first, 0u);
  ASSERT_NE(second, 0u);
  boost::asio::write(a.client, boost::asio::buffer("unread", 6));
  b.client.close();
  EXPECT_EQ(next(), second);
  a.client.close();
  EXPECT_EQ(next(), first);
}

TEST_F(connection_ends_test, close_by_the_peer_is_reported_after_a_local_close) {
  auto a = connect();
  auto const watch = ends.watch(a.server.native_handle(), a.peer());
  a.server.close();
  a.client.close();
  EXPECT_EQ(next(), watch);
}

TEST_F(connection_ends_test, forgotten_watch_is_not_reported) {
  auto a = connect(), b = connect();
  ends.forget(ends.watch(a.server.native_handle(), a.peer()));
  ends.forget(777);
  auto const watch = ends.watch(b.server.native_handle(), b.peer());
  a.client.close();
  b.client.close();
  EXPECT_EQ(next(), watch);
}

TEST_F(connection_ends_test, socket_reused_by_another_peer_is_not_watched) {
  auto a = connect(), b = connect();
  EXPECT_EQ(ends.watch(a.server.native_handle(), b.peer()), 0u);
  EXPECT_EQ(ends.watch(acceptor.native_handle(), a.peer()), 0u);
  EXPECT_EQ(ends.watch(-1, a.peer()), 0u);
}

}  // namespace
}  // namespace muster::net
