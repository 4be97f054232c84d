// `muster proxy` in front of servers with TLS: the commands of docs/high-availability.md, and
// errors for contradictory settings.
#include <gtest/gtest.h>

#include <future>
#include <muster/coordination_agent.hpp>
#include <muster/session.hpp>
#include <sstream>

#include "tests/e2e/cluster.hpp"

namespace muster::e2e {
namespace {

/// Returns the arguments of the documented command that starts with `beginning`, without quotes.
words command_of_page(std::string const& beginning) {
  auto const page = read_file(MUSTER_SOURCE_DIR "/docs/high-availability.md");
  auto const at = page.find("\n" + beginning);
  if (at == std::string::npos) throw std::logic_error("the page has no command " + beginning);
  std::string line;
  for (auto i = at + 1; i < page.size() && (page[i] != '\n' || page[i - 1] == '\\'); ++i)
    if (page[i] != '\\' && page[i] != '\'') line += page[i] == '\n' ? ' ' : page[i];
  std::istringstream in(line);
  words all;
  for (std::string word; in >> word;) all.push_back(word);
  all.erase(all.begin());  // the program
  return all;
}

class secured : public testing::Test {
 protected:
  void SetUp() override { EXPECT_EQ(c.run({"tls", "init", c.file("tls").string()}).status, 0); }
  std::string pem(std::string const& name) { return (c.file("tls") / name).string(); }
  /// Replaces the documented addresses and paths by those of this test.
  words here(words all) {
    for (auto& word : all) {
      if (word == "a.example:8476,b.example:8476") word = c.grpc() + "," + nobody;
      if (word == "127.0.0.1:8476") word = "127.0.0.1:0";
      if (word == "/var/lib/muster/data") word = c.file("data").string();
      std::string const etc = "/etc/muster/tls/";
      if (word.starts_with(etc)) word = pem(word.substr(etc.size()));
    }
    return all;
  }
  process& proxy(words all) {
    all.insert(all.end(), {"--upstream-http", c.http() + "," + nobody, "--ready-file",
                           c.file("proxy.json").string(), "--check-every", "50ms"});
    auto& p = c.spawn(all);
    EXPECT_TRUE(await([&] {
      boost::system::error_code ec;
      auto const ready = boost::json::parse(read_file(c.file("proxy.json")), ec);
      if (!ec) address = ready.at("listen").as_string().c_str();
      return !ec;
    })) << p.errors();
    return p;
  }
  words plain(words more) {
    words all{"proxy", "--listen", "127.0.0.1:0", "--upstream", c.grpc() + "," + nobody};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  cluster c;
  std::string address;
  // Stands for the second documented server, which is down. Port 9 has no listener.
  std::string const nobody = "127.0.0.1:9";
};

TEST_F(secured, plaintext_agents_reach_servers_that_require_certificates) {
  auto flags = here(command_of_page("muster serve --grpc 0.0.0.0:8476 --http 0.0.0.0:8477 --tls"));
  ASSERT_EQ(flags.at(0), "serve");
  flags.erase(flags.begin(), flags.begin() + 5);  // and its addresses
  // Excludes this host, so that only the certificate grants access.
  flags.insert(flags.end(), {"--agents-from", "192.0.2.0/24"});
  c.serve(flags);
  auto& p = proxy(here(command_of_page("muster proxy --listen 127.0.0.1:8476 --upstream-tls")));
  ASSERT_TRUE(p.says("the leader is " + c.grpc()));
  auto const agent = [&](std::uint32_t task) {
    coordination_options o;
    o.server = address;
    o.task = task;
    return std::make_unique<coordination_agent>(o);
  };
  auto first = agent(0), second = agent(1);
  auto connecting = std::async(std::launch::async, [&] { first->connect(); });
  second->connect();
  connecting.get();
  std::string const large(std::size_t{3} << 20, 'x');  // many times the buffers on the way
  first->set("k", large);
  EXPECT_TRUE(second->get("k", 20s) == large);
  auto leaving = std::async(std::launch::async, [&] { first->shutdown(); });
  second->shutdown();
  leaving.get();
  EXPECT_EQ(p.errors().find("broke"), std::string::npos) << p.errors();
}

TEST_F(secured, proxy_without_the_required_certificate_reports_it) {
  c.serve({"--tls-cert", pem("server.pem"), "--tls-key", pem("server.key"), "--tls-client-ca",
           pem("ca.pem"), "--tls-client-required"});
  auto& without = proxy(plain({"--upstream-tls", "--ca", pem("ca.pem")}));
  EXPECT_TRUE(without.says("no server is the leader"));
  EXPECT_TRUE(without.says("certificate required"));
  auto& stranger = proxy(plain({"--upstream-tls"}));
  EXPECT_TRUE(stranger.says("the server's certificate was rejected"));
  auto& plaintext = proxy(plain({}));
  EXPECT_TRUE(plaintext.says("the server may require TLS"));
}

TEST_F(secured, end_to_end_tls_passes_unchanged) {
  c.serve({"--tls-cert", pem("server.pem"), "--tls-key", pem("server.key")});
  auto& p = proxy(plain({"--ca", pem("ca.pem")}));
  ASSERT_TRUE(p.says("the leader is"));
  c.spawn({"worker", "--server", address, "--ca", pem("ca.pem")});
  muster::session s({.server = address, .tls = {pem("ca.pem")}});
  s.wait_open();
  EXPECT_EQ(s.call<int>("muster.echo", 5).get(), 5) << p.errors();
}

TEST_F(secured, replaced_certificate_is_used_for_new_connections) {
  c.serve({"--tls-cert", pem("server.pem"), "--tls-key", pem("server.key"), "--tls-client-ca",
           pem("ca.pem"), "--tls-client-required"});
  // First, the certificate of another authority.
  ASSERT_EQ(c.run({"tls", "init", c.file("other").string()}).status, 0);
  auto const cert = c.write("shown.pem", read_file(c.file("other") / "worker.pem")).string();
  auto const key = c.write("shown.key", read_file(c.file("other") / "worker.key")).string();
  auto& p = proxy(plain({"--ca", pem("ca.pem"), "--cert", cert, "--key", key}));
  EXPECT_TRUE(p.says("no server is the leader"));
  c.write("shown.key", read_file(pem("worker.key")));
  c.write("shown.pem", read_file(pem("worker.pem")));
  EXPECT_TRUE(p.says("the leader is"));
}

TEST(proxy_tls, conflicting_flags_are_named) {
  cluster c;
  auto const refused = [&](words more) {
    words all{"proxy", "--listen", "127.0.0.1:0", "--upstream", "a:1"};
    all.insert(all.end(), more.begin(), more.end());
    auto const f = c.run(all);
    EXPECT_EQ(f.status, 2) << f.err;
    return f.err;
  };
  EXPECT_CONTAINS(refused({"--ca", "/nowhere/ca.pem"}), "/nowhere/ca.pem");
  EXPECT_CONTAINS(refused({"--cert", "/nowhere/x.pem"}),
                  "a client certificate needs its private key");
}

}  // namespace
}  // namespace muster::e2e
