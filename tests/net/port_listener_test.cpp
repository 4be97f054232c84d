#include "server/net/port_listener.hpp"

#include <sys/resource.h>

#include <atomic>

#include "tests/net/listener_test_support.hpp"

namespace muster::net::test {
namespace {

TEST(port_listener, passes_on_a_client_after_its_preface_without_consuming_it) {
  listening l(patient());
  client c(l.port());
  c.send(preface + "more");
  auto const a = l.next();
  ASSERT_TRUE(a);
  EXPECT_TRUE(a->peer.starts_with("127.0.0.1:")) << a->peer;
  EXPECT_EQ(received(*a), preface + "more");
  EXPECT_TRUE(l.has(0));
}

TEST(port_listener, a_preface_may_come_in_pieces) {
  listening l(patient());
  client c(l.port());
  ASSERT_TRUE(l.has(1));
  for (auto const byte : preface.substr(0, 32)) c.send({&byte, 1});
  EXPECT_TRUE(l.nothing_yet());
  c.send(preface.substr(32));
  auto const a = l.next();
  ASSERT_TRUE(a);
  EXPECT_EQ(received(*a), preface);
  c.send("x");  // a single byte makes the socket readable again
  int mark = 0;
  socklen_t size = sizeof mark;
  ::getsockopt(a->socket.get(), SOL_SOCKET, SO_RCVLOWAT, &mark, &size);
  EXPECT_EQ(mark, 1);
}

TEST(port_listener, other_data_is_passed_on_to_grpc) {
  listening l(patient());
  for (std::string const words : {"GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01", "PRI * HTTP/1"}) {
    client c(l.port());
    c.send(words);
    auto const a = l.next();
    ASSERT_TRUE(a) << words;
    EXPECT_EQ(received(*a), words);
  }
}

// Returns a TLS record with a valid length of `length` bytes.
std::string hello_of(std::size_t length) {
  std::string record("\x16\x03\x01\0\0\x01", 6);
  record[3] = static_cast<char>(length >> 8);
  record[4] = static_cast<char>(length & 0xff);
  return record + std::string(length - 1, 'h');
}

TEST(port_listener, complete_tls_hello_is_passed_on) {
  listening l(patient(), "127.0.0.1", wire::tls);
  client c(l.port());
  auto const hello = hello_of(1'700);
  for (auto const& part : {std::pair(0, 1), {1, 5}, {6, 1'000}}) {
    c.send(std::string_view(hello).substr(part.first, part.second));
    EXPECT_TRUE(l.has(1));
    EXPECT_TRUE(l.nothing_yet());
  }
  c.send(std::string_view(hello).substr(1'006));
  auto const a = l.next();
  ASSERT_TRUE(a);
  EXPECT_EQ(received(*a), hello);
}

TEST(port_listener, long_tls_hello_is_passed_on_before_its_end) {
  listening l(patient(), "127.0.0.1", wire::tls);
  client c(l.port());
  c.send(hello_of(16'000).substr(0, 9'000));
  EXPECT_TRUE(l.next());
}

TEST(port_listener, tls_port_closes_other_protocols_early) {
  listening l(patient(), "127.0.0.1", wire::tls);
  for (auto const& words : {preface, std::string("G"), std::string("\x16\x02"),
                            std::string("\x16\x03\x01\0\5\x02", 6)}) {
    client c(l.port());
    c.send(words);
    EXPECT_TRUE(c.closed()) << words;
  }
  EXPECT_TRUE(l.nothing_yet());
}

TEST(port_listener, silent_client_is_closed_after_the_timeout) {
  port_listener_options o;
  o.waiting.first_data_timeout = 50ms;
  listening l(o);
  client silent(l.port()), half(l.port());
  half.send(preface.substr(0, 20));
  EXPECT_TRUE(silent.closed());
  EXPECT_TRUE(half.closed());
  EXPECT_TRUE(l.has(0));
  EXPECT_EQ(l.counts().header_timeout, 2u);
  client next(l.port());
  next.send(preface);
  EXPECT_TRUE(l.next());
}

TEST(port_listener, client_that_leaves_before_its_preface_is_removed_at_once) {
  listening l(patient());
  {
    client silent(l.port()), half(l.port());
    half.send(preface.substr(0, 20));
    ASSERT_TRUE(l.has(2));
  }
  EXPECT_TRUE(l.has(0));
  EXPECT_TRUE(l.nothing_yet());
}

TEST(port_listener, the_oldest_of_an_address_makes_room_for_its_next) {
  auto o = patient();
  o.waiting.per_address_max = 2;
  listening l(o);
  client other(l.port(), "127.0.0.2"), a(l.port()), b(l.port());
  ASSERT_TRUE(l.has(3));
  client c(l.port());
  EXPECT_TRUE(a.closed());
  EXPECT_TRUE(l.has(3));
  EXPECT_EQ(l.counts().address_limit, 1u);
  for (auto* stays : {&other, &b, &c}) {
    EXPECT_TRUE(stays->open());
    stays->send(preface);
    EXPECT_TRUE(l.next());
  }
}

TEST(port_listener, the_oldest_of_all_makes_room_when_every_place_is_taken) {
  auto o = patient();
  o.waiting.all_max = 2;
  listening l(o);
  client a(l.port(), "127.0.0.2"), b(l.port(), "127.0.0.3");
  ASSERT_TRUE(l.has(2));
  client c(l.port(), "127.0.0.4");
  EXPECT_TRUE(a.closed());
  EXPECT_TRUE(b.open());
  EXPECT_EQ(l.counts().made_room, 1u);
}

TEST(port_listener, stop_closes_waiting_clients_and_refuses_new_ones) {
  listening l(patient());
  client waits(l.port());
  ASSERT_TRUE(l.has(1));
  l.stop();
  EXPECT_TRUE(waits.closed());
  EXPECT_FALSE(client().reaches(l.port()));
}

TEST(port_listener, the_wildcard_takes_both_families) {
  listening l(patient(), "0.0.0.0");
  client four(l.port());
  four.send(preface);
  auto const a = l.next();
  ASSERT_TRUE(a);
  EXPECT_TRUE(a->peer.starts_with("127.0.0.1:")) << a->peer;
  file_descriptor six(::socket(AF_INET6, SOCK_STREAM, 0));
  sockaddr_in6 to{};
  to.sin6_family = AF_INET6;
  to.sin6_port = htons(l.port());
  to.sin6_addr = in6addr_loopback;
  if (::connect(six.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) != 0)
    GTEST_SKIP() << "this machine has no IPv6";
  EXPECT_EQ(::send(six.get(), preface.data(), preface.size(), 0), 33);
  auto const b = l.next();
  ASSERT_TRUE(b);
  EXPECT_TRUE(b->peer.starts_with("[::1]:")) << b->peer;
}

// Lowers the descriptor limit of this process to its open ones, during its lifetime.
class no_descriptors {
 public:
  no_descriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    file_descriptor const first_free(::dup(0));
    auto limit = before_;
    limit.rlim_cur = static_cast<rlim_t>(first_free.get());
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  }
  ~no_descriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST(port_listener, resumes_when_descriptors_are_available_again) {
  auto o = patient();
  std::atomic<int> told = 0;
  o.out_of_descriptors = [&told] { ++told; };
  listening l(o);
  client a(l.port());
  ASSERT_TRUE(l.has(1));
  client b, c;
  {
    no_descriptors const none;
    b.connect(l.port());
    EXPECT_TRUE(a.closed()) << "the oldest makes room";
    b.send(preface);
    EXPECT_TRUE(l.next().has_value());
  }
  EXPECT_GT(told, 0);
  EXPECT_GT(l.counts().out_of_descriptors, 0u);
  {
    no_descriptors const none;
    c.connect(l.port());
    c.send(preface);
    auto const before = told.load();
    while (told == before) std::this_thread::sleep_for(1ms);
    EXPECT_TRUE(l.nothing_yet());
  }
  EXPECT_TRUE(l.next().has_value());
}

}  // namespace
}  // namespace muster::net::test
