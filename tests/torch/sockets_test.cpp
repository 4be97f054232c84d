#include <gtest/gtest.h>

#include <future>
#include <mutex>
#include <thread>

#include "server/torch/sockets/torch_server.hpp"
#include "tests/support/raw_socket.hpp"
#include "tests/torch/torch_clients.hpp"

namespace muster::torch {
namespace {

using test::port_of;
using test::raw_socket;

/// Reads up to `bytes` bytes; fewer if the connection ends.
std::string read_from(raw_socket& s, std::size_t bytes) {
  std::string all;
  while (all.size() < bytes) {
    auto const more = s.receive(bytes - all.size());
    if (more.empty()) break;
    all += more;
  }
  return all;
}

class torch_sockets : public ::testing::Test {
 protected:
  std::uint16_t serve(limits const& l = {}, std::string const& from = "127.0.0.0/8") {
    torch_server_options o;
    o.limits = l;
    o.from = *muster::server::parse_networks({from});
    o.now = [] { return core::time_point(std::chrono::seconds(1)); };
    o.tell = [this](store_incident i) {
      std::lock_guard lock(mutex_);
      told_.push_back(i.cluster + ": " + i.what.text);
    };
    server_ = std::make_unique<torch_server>(std::move(o));
    auto const address = server_->open(1, "train", {});
    EXPECT_TRUE(address) << address.error().message;
    server_->start([](std::function<void()> work) { return std::thread(std::move(work)); });
    return port_of(*address);
  }

  template <class F>
  auto on_torch_store(F f) {
    std::promise<decltype(f(std::declval<tcp_store&>()))> told;
    auto value = told.get_future();
    server_->visit(1, [&](tcp_store* s) { told.set_value(f(*s)); });
    return value.get();
  }
  std::vector<std::string> told() {
    std::lock_guard lock(mutex_);
    return told_;
  }

  std::unique_ptr<torch_server> server_;

 private:
  std::mutex mutex_;
  std::vector<std::string> told_;
};

TEST_F(torch_sockets, answer_and_wake_each_other) {
  auto const port = serve();
  raw_socket a(port), b(port);
  a.send(say::validate() + say::ping(7) + say::wait({"/k"}));
  EXPECT_EQ(read_from(a, 4), u64(7).substr(0, 4));
  b.send(say::validate() + say::set("/k", "v") + say::get("/k"));
  EXPECT_EQ(read_from(b, 9), text("v"));
  EXPECT_EQ(read_from(a, 1), byte(0));
  EXPECT_EQ(on_torch_store([](tcp_store& s) { return s.view(10).shown.at(0).pid; }), 7u);
}

TEST_F(torch_sockets, from_other_networks_are_closed_at_once) {
  auto const port = serve({}, "10.0.0.0/8");
  raw_socket a(port);
  EXPECT_TRUE(a.ends());
  ASSERT_EQ(told().size(), 1u);
  EXPECT_EQ(told()[0].find("train: a client (127.0.0.1:"), 0u) << told()[0];
}

TEST_F(torch_sockets, refused_client_does_not_close_a_silent_one) {
  auto const port = serve();
  raw_socket silent(port), web(port);
  web.send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(web.ends());
  while (on_torch_store([](tcp_store& s) { return s.connections(); }) != 1)
    std::this_thread::yield();
  silent.send(say::validate() + say::get("/k"));
  EXPECT_EQ(read_from(silent, 8), u64(0));
}

TEST_F(torch_sockets, connection_log_is_rate_limited) {
  auto const port = serve();
  for (int i = 0; i < 30; ++i) {
    raw_socket web(port);
    web.send("GET / HTTP/1.1\r\n\r\n");
    EXPECT_TRUE(web.ends());
  }
  EXPECT_EQ(told().size(), 20u);
}

TEST_F(torch_sockets, slow_readers_receive_all_their_data) {
  auto const port = serve();
  raw_socket slow(port, {.receive_buffer = 4'096}), other(port);
  std::string const value(3 << 20, 'x');
  auto all = say::validate() + say::set("/k", value);
  for (int i = 0; i < 10; ++i) all += say::get("/k");
  ASSERT_TRUE(slow.send(all));
  other.send(say::validate() + say::wait({"/k"}));
  EXPECT_EQ(read_from(other, 1), byte(0));
  EXPECT_LE(on_torch_store([](tcp_store& s) { return s.unread_bytes(); }), (3u << 20) + 8);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(read_from(slow, value.size() + 8) == text(value));
}

TEST_F(torch_sockets, connections_beyond_the_limit_wait_for_a_free_place) {
  limits l;
  l.connections = 1;
  auto const port = serve(l);
  raw_socket first(port), second(port);
  first.send(say::validate() + say::ping(1));
  EXPECT_EQ(read_from(first, 4).size(), 4u);
  second.send(say::validate() + say::ping(2));
  EXPECT_EQ(on_torch_store([](tcp_store& s) { return s.connections(); }), 1u);
  first.close();
  EXPECT_EQ(read_from(second, 4), u64(2).substr(0, 4));
}

TEST_F(torch_sockets, close_with_their_cluster) {
  auto const port = serve();
  raw_socket a(port);
  a.send(say::validate() + say::ping(1));
  EXPECT_EQ(read_from(a, 4).size(), 4u);
  server_->close(1);
  EXPECT_TRUE(a.ends());
  EXPECT_EQ(server_->address(1), "");
  raw_socket late;
  EXPECT_FALSE(late.reaches(port));
}

TEST_F(torch_sockets, unavailable_port_error_gives_the_reason) {
  auto const port = serve();
  auto const again = server_->open(2, "other", {.address = "127.0.0.1", .port = port});
  ASSERT_FALSE(again);
  EXPECT_EQ(
      again.error().message,
      "cannot listen on 127.0.0.1:" + std::to_string(port) +
          ": another program is using the port; stop it ('ss -ltnp' lists it), or choose another "
          "port");
  EXPECT_FALSE(server_->open(2, "other", {.address = "nowhere"}));
}

}  // namespace
}  // namespace muster::torch
