#include "server/net/proxied/proxy_header.hpp"
#include "tests/net/listener_test_support.hpp"

namespace muster::net::test {
namespace {

namespace ip = boost::asio::ip;

// The relay's address is 127.0.0.9.
struct relayed {
  explicit relayed(wire spoken = wire::plaintext, port_listener_options o = patient())
      : l(with_rules(std::move(o)), "127.0.0.1", spoken) {}

  port_listener_options with_rules(port_listener_options o) {
    o.proxies.believed = [](ip::address const& a) { return a.to_string() == "127.0.0.9"; };
    o.proxies.complain = [this](std::string const& line) {
      std::lock_guard const lock(mutex);
      lines.push_back(line);
    };
    return o;
  }
  std::vector<std::string> told() {
    std::lock_guard const lock(mutex);
    return lines;
  }

  std::mutex mutex;
  std::vector<std::string> lines;
  listening l;
};

std::string header(char const* client, unsigned short port) {
  return write_proxy_header({ip::make_address(client), port}, {ip::make_address("10.0.0.1"), 8476});
}

TEST(proxied_listener, client_behind_a_relay_is_reported_and_the_header_is_removed) {
  relayed r;
  client c(r.l.port(), "127.0.0.9");
  c.send(header("192.168.7.7", 4711) + preface + "more");
  auto const a = r.l.next();
  ASSERT_TRUE(a);
  EXPECT_TRUE(a->peer.starts_with("127.0.0.9:")) << a->peer;
  EXPECT_EQ(a->client, "192.168.7.7:4711");
  EXPECT_EQ(received(*a), preface + "more");
}

TEST(proxied_listener, header_and_data_can_arrive_byte_by_byte) {
  relayed r;
  client c(r.l.port(), "127.0.0.9");
  for (auto const byte : header("fd00::7", 4711) + preface) {
    EXPECT_TRUE(r.l.nothing_yet());
    c.send({&byte, 1});
    std::this_thread::yield();
  }
  auto const a = r.l.next();
  ASSERT_TRUE(a);
  EXPECT_EQ(a->client, "[fd00::7]:4711");
  EXPECT_EQ(received(*a), preface);
}

TEST(proxied_listener, connection_of_the_relay_itself_keeps_its_address) {
  relayed r;
  client plain(r.l.port(), "127.0.0.9");
  plain.send(preface);
  auto a = r.l.next();
  ASSERT_TRUE(a);
  EXPECT_EQ(a->client, a->peer) << "a missing header is accepted";
  client local(r.l.port(), "127.0.0.9");
  local.send(std::string("\r\n\r\n\0\r\nQUIT\n\x20\0\0\0", 16) + preface);
  a = r.l.next();
  ASSERT_TRUE(a);
  EXPECT_EQ(a->client, a->peer);
  EXPECT_EQ(received(*a), preface);
  EXPECT_TRUE(r.told().empty());
}

TEST(proxied_listener, header_precedes_tls_in_plaintext) {
  relayed r(wire::tls);
  std::string const hello("\x16\x03\x01\0\x05\x01\0\0\x01\0", 10);
  client c(r.l.port(), "127.0.0.9");
  c.send(header("192.168.7.7", 4711));
  c.send(hello);
  auto const a = r.l.next();
  ASSERT_TRUE(a);
  EXPECT_EQ(a->client, "192.168.7.7:4711");
  EXPECT_EQ(received(*a), hello);
}

TEST(proxied_listener, untrusted_and_invalid_headers_are_closed_and_logged_once) {
  relayed r;
  client stranger(r.l.port(), "127.0.0.8");
  stranger.send(header("192.168.7.7", 4711) + preface);
  EXPECT_TRUE(stranger.closed());
  client large(r.l.port(), "127.0.0.9");
  large.send(std::string("\r\n\r\n\0\r\nQUIT\n\x21\x11\xff\xff", 16));
  EXPECT_TRUE(large.closed());
  EXPECT_TRUE(r.l.has(0));
  EXPECT_TRUE(r.l.nothing_yet());
  auto const told = r.told();
  ASSERT_EQ(told.size(), 1u) << "of all in ten seconds";
  EXPECT_TRUE(told[0].starts_with("a PROXY header from 127.0.0.8:")) << told[0];
  EXPECT_NE(told[0].find("in none of the networks of --proxy-from"), std::string::npos) << told[0];
}

TEST(proxied_listener, unfinished_header_is_closed_after_the_timeout) {
  auto o = patient();
  o.waiting.first_data_timeout = 50ms;
  relayed r(wire::plaintext, std::move(o));
  client c(r.l.port(), "127.0.0.9");
  c.send(header("192.168.7.7", 4711).substr(0, 20));
  EXPECT_TRUE(c.closed());
  client silent(r.l.port(), "127.0.0.9");
  silent.send(header("192.168.7.7", 4711));
  EXPECT_TRUE(silent.closed()) << "and so is one without data after it";
  EXPECT_EQ(r.l.counts().header_timeout, 2u);
}

TEST(proxied_listener, address_limits_apply_to_the_client_behind_the_relay) {
  auto o = patient();
  o.waiting.per_address_max = 1;
  relayed r(wire::plaintext, std::move(o));
  client first(r.l.port(), "127.0.0.9");
  first.send(header("192.168.7.7", 1));
  EXPECT_TRUE(r.l.has(1));
  client other(r.l.port(), "127.0.0.9");
  other.send(header("192.168.7.8", 1));
  EXPECT_TRUE(r.l.has(2)) << "two addresses, two places";
  EXPECT_TRUE(first.open());
  client second(r.l.port(), "127.0.0.9");
  second.send(header("192.168.7.7", 2));
  EXPECT_TRUE(first.closed()) << "the oldest of that address";
  EXPECT_TRUE(other.open());
  EXPECT_EQ(r.l.counts().address_limit, 1u);
}

}  // namespace
}  // namespace muster::net::test
