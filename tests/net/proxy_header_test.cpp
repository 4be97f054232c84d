#include "server/net/proxied/proxy_header.hpp"

#include <gtest/gtest.h>

#include "server/net/incoming.hpp"

namespace muster::net::test {
namespace {

using state = proxy_header::state;
namespace ip = boost::asio::ip;

std::string bytes(std::string_view hex) {
  std::string all;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    all += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return all;
}

// Sent by haproxy 2.6 with send-proxy-v2, for 127.0.0.7:40001 and [::1]:40002; with
// proxy-v2-options crc32c,unique-id; for check-send-proxy.
std::string const v4 = bytes("0d0a0d0a000d0a515549540a2111000c7f0000077f0000019c4199e9");
std::string const v6 = bytes(
    "0d0a0d0a000d0a515549540a2121002400000000000000000000000000000001000000000000000000000000000000"
    "019c4299e9");
std::string const with_tlvs = bytes(
    "0d0a0d0a000d0a515549540a2111001c7f0000077f0000019c4399eb0300046b926b650500066162632d2d2d");
std::string const local = bytes("0d0a0d0a000d0a515549540a20000000");

std::string client_of(std::string const& said) {
  auto const h = read_proxy_header(said);
  EXPECT_EQ(h.is, state::whole) << h.problem;
  return h.client ? text_of(*h.client) : "the relay";
}

TEST(proxy_header, headers_of_haproxy_are_read) {
  EXPECT_EQ(client_of(v4), "127.0.0.7:40001");
  EXPECT_EQ(client_of(v6), "[::1]:40002");
  EXPECT_EQ(client_of(with_tlvs), "127.0.0.7:40003");
  EXPECT_EQ(client_of(local), "the relay");
  EXPECT_EQ(read_proxy_header(v4 + "PRI * HTTP/2.0").bytes, v4.size()) << "and nothing behind it";
  EXPECT_EQ(read_proxy_header(with_tlvs + "PRI").bytes, with_tlvs.size());
}

TEST(proxy_header, incomplete_header_is_awaited) {
  for (auto const* whole : {&v4, &v6, &with_tlvs, &local})
    for (std::size_t n = 1; n < whole->size(); ++n) {
      auto const h = read_proxy_header(whole->substr(0, n));
      EXPECT_EQ(h.is, state::partial) << n;
      EXPECT_EQ(h.bytes, n < 16 ? 16u : whole->size()) << n;
    }
}

TEST(proxy_header, other_data_is_no_header) {
  for (std::string const said :
       {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET / HTTP/1.1\r\n", "\x16\x03\x01",
        "PROXY TCP4 10.0.0.1 10.0.0.2 1 2\r\n", "\r\n\r\nGET / HTTP/1.1"})
    EXPECT_EQ(read_proxy_header(said).is, state::none) << said;
}

TEST(proxy_header, error_states_what_is_wrong_in_the_header) {
  auto const problem = [](std::size_t at, char value, std::string header = v4) {
    header[at] = value;
    auto const h = read_proxy_header(header);
    EXPECT_EQ(h.is, state::wrong);
    return h.problem;
  };
  EXPECT_EQ(problem(12, '\x11'), "its version is not 2");
  EXPECT_EQ(problem(12, '\x22'), "its command is unknown");
  EXPECT_EQ(problem(13, '\x41'), "its family is unknown");
  EXPECT_EQ(problem(13, '\x13'), "its family is unknown");
  EXPECT_EQ(problem(15, '\x0b', v4), "the header is too short to contain its addresses");
  EXPECT_EQ(problem(13, '\x21'), "the header is too short to contain its addresses");
  EXPECT_EQ(problem(14, '\x04'), "it has 1052 bytes, the limit is 1024");
  EXPECT_EQ(read_proxy_header(v4.substr(0, 14) + "\x03\xf0").is, state::partial)
      << "1024 are allowed";
}

TEST(proxy_header, relay_address_is_used_unless_the_client_uses_tcp) {
  auto unix_socket = bytes("0d0a0d0a000d0a515549540a213100d8") + std::string(0xd8, 'x');
  EXPECT_EQ(client_of(unix_socket), "the relay");
  auto datagram = v4;
  datagram[13] = '\x12';
  EXPECT_EQ(client_of(datagram), "the relay");
}

ip::tcp::endpoint at(char const* address, unsigned short port) {
  return {ip::make_address(address), port};
}

TEST(proxy_header, loopback_client_of_a_remote_relay_has_the_relays_address) {
  auto const said = [](char const* relay, char const* client) {
    proxy_header const h{state::whole, 28, at(client, 7)};
    return text_of(behind(at(relay, 9), h));
  };
  EXPECT_EQ(said("10.0.0.9", "192.168.7.7"), "192.168.7.7:7");
  EXPECT_EQ(said("10.0.0.9", "127.0.0.1"), "10.0.0.9:9");
  EXPECT_EQ(said("10.0.0.9", "::ffff:127.0.0.1"), "10.0.0.9:9");
  EXPECT_EQ(said("fd00::9", "::1"), "[fd00::9]:9");
  EXPECT_EQ(said("127.0.0.1", "127.0.0.1"), "127.0.0.1:7");
  EXPECT_EQ(said("::ffff:127.0.0.1", "127.0.0.2"), "127.0.0.2:7");
  EXPECT_EQ(text_of(behind(at("10.0.0.9", 9), {state::whole, 16})), "10.0.0.9:9") << "LOCAL";
}

TEST(proxy_header, written_headers_equal_those_of_haproxy) {
  EXPECT_EQ(write_proxy_header(at("127.0.0.7", 40001), at("127.0.0.1", 39401)), v4);
  EXPECT_EQ(write_proxy_header(at("::1", 40002), at("::1", 39401)), v6);
  EXPECT_EQ(client_of(write_proxy_header(at("10.0.0.7", 1), at("::1", 2))), "10.0.0.7:1")
      << "of two families: mapped";
}

}  // namespace
}  // namespace muster::net::test
