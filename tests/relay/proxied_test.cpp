#include <gtest/gtest.h>

#include <muster/coordination_agent.hpp>

#include "server/net/proxied/proxy_header.hpp"
#include "tests/e2e/cluster.hpp"
#include "tests/support/proxy.hpp"

namespace muster::e2e {
namespace {

namespace ip = boost::asio::ip;

std::string header(char const* client) {
  return net::write_proxy_header({ip::make_address(client), 4711},
                                 {ip::make_address("10.0.0.1"), 8476});
}

/// A server that requires tokens, except from coordination clients in 192.168.7.0/24.
class proxied : public testing::Test {
 protected:
  process& serve(words more = {"--proxy-from", "127.0.0.1"}) {
    more.insert(more.end(), {"--data-dir", c.file("data").string(), "--auth", "on", "--agents-from",
                             "192.168.7.0/24"});
    if (std::find(more.begin(), more.end(), "--cluster") == more.end())
      more.insert(more.end(), {"--cluster", "train:worker=1", "--cluster", "eval:worker=1"});
    auto& server = c.serve(more);
    admin = read_file(c.file("data") / "admin.token");
    admin.resize(admin.find('\n'));
    return server;
  }
  finished as_admin(words verb, std::string const& url = {}) {
    if (!url.empty()) verb.insert(verb.end(), {"--url", url});
    return c.run(verb, {}, {{"MUSTER_TOKEN", admin}});
  }
  /// Returns the address for the coordination clients of a cluster.
  std::string address_of(std::string const& cluster, words tls = {}) {
    words verb{"clusters", "show", cluster, "--output", "json"};
    verb.insert(verb.end(), tls.begin(), tls.end());
    auto const shown = as_admin(verb);
    EXPECT_EQ(shown.status, 0) << shown.err;
    auto const address = boost::json::parse(shown.out).at("address");
    return std::string(address.as_string());
  }
  /// Returns why the client was refused; empty if it was accepted.
  static std::string why_not(std::string const& address, muster::tls_options tls = {}) {
    coordination_options o;
    o.server = address;
    o.connect_timeout = 5s;
    o.tls = std::move(tls);
    coordination_agent agent(o);
    try {
      agent.connect();
      agent.shutdown();
      return {};
    } catch (std::exception const& e) {
      return e.what();
    }
  }

  cluster c;
  std::string admin;
};

TEST_F(proxied, agents_are_admitted_by_their_own_address) {
  serve();
  for (auto const* name : {"train", "eval"}) {
    auto const address = address_of(name);
    test::proxy listed(address, header("192.168.7.7")), other(address, header("10.1.1.1"));
    EXPECT_EQ(why_not(listed.address()), "") << name;
    EXPECT_CONTAINS(why_not(other.address()), "'10.1.1.1' is in none of them");
    EXPECT_CONTAINS(why_not(address), "'127.0.0.1' is in none of them");
    EXPECT_EQ(why_not(listed.address()), "") << "also after the others";
  }
}

TEST_F(proxied, tls_agents_are_admitted_by_their_own_address) {
  ASSERT_EQ(c.run({"tls", "init", c.file("tls").string()}).status, 0);
  auto const pem = [&](char const* name) { return (c.file("tls") / name).string(); };
  serve({"--proxy-from", "127.0.0.1", "--tls-cert", pem("server.pem"), "--tls-key",
         pem("server.key"), "--cluster", "train:worker=1;agents=tls", "--cluster",
         "eval:worker=1;agents=tls"});
  for (auto const* name : {"train", "eval"}) {
    auto const address = address_of(name, {"--url", "https://" + c.http(), "--ca", pem("ca.pem")});
    test::proxy listed(address, header("192.168.7.7")), other(address, header("10.1.1.1"));
    EXPECT_EQ(why_not(listed.address(), {pem("ca.pem")}), "") << name;
    EXPECT_CONTAINS(why_not(other.address(), {pem("ca.pem")}), "'10.1.1.1' is in none of them");
    EXPECT_CONTAINS(why_not(address, {pem("ca.pem")}), "'127.0.0.1' is in none of them");
  }
}

TEST_F(proxied, events_of_rest_requests_name_the_client_address) {
  serve();
  test::proxy relay(c.http(), header("fd00::7"));
  auto const made = as_admin({"token", "create", "--role", "viewer"}, "http://" + relay.address());
  EXPECT_EQ(made.status, 0) << made.err;
  auto const events = as_admin({"events"});
  EXPECT_CONTAINS(events.out, "POST /api/v1/tokens 201 from fd00::7");
  EXPECT_EQ(as_admin({"jobs"}).status, 0) << "and no header is as good, from a relay, too";
}

TEST_F(proxied, header_from_an_untrusted_address_is_refused_and_logged_once) {
  auto& server = serve({});
  test::proxy grpc(c.grpc(), header("192.168.7.7")), http(c.http(), header("192.168.7.7"));
  auto const asked = as_admin({"jobs"}, "http://" + http.address());
  EXPECT_EQ(asked.status, 3) << asked.err;
  EXPECT_NE(why_not(grpc.address()), "");
  auto const log = server.errors();
  EXPECT_CONTAINS(log, "a PROXY header from 127.0.0.1:");
  EXPECT_CONTAINS(log, "was refused: the sender is in none of the networks of --proxy-from");
}

TEST_F(proxied, server_accepts_the_header_of_muster_proxy) {
  serve({"--proxy-from", "127.0.0.0/8,::1", "--agents-from", "127.0.0.0/8"});
  auto& p = c.spawn({"proxy", "--listen", "127.0.0.1:0", "--upstream", c.grpc(), "--upstream-http",
                     c.http(), "--send-proxy-v2", "--check-every", "50ms", "--ready-file",
                     c.file("proxy.json").string()});
  std::string address;
  ASSERT_TRUE(await([&] {
    boost::system::error_code ec;
    auto const ready = boost::json::parse(read_file(c.file("proxy.json")), ec);
    if (!ec) address = ready.at("listen").as_string().c_str();
    return !ec;
  })) << p.errors();
  EXPECT_EQ(why_not(address), "") << p.errors();
  auto const wrong = c.run({"serve", "--proxy-from", "10.0.0.0/99"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_CONTAINS(wrong.err, "--proxy-from: '10.0.0.0/99' is not a network");
}

}  // namespace
}  // namespace muster::e2e
