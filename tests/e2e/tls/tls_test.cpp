// TLS between real processes: accepted and refused clients, the errors that refused clients
// receive, and replaced certificate files.
#include <gtest/gtest.h>
#include <signal.h>

#include <future>
#include <muster/coordination_agent.hpp>
#include <muster/session.hpp>

#include "tests/e2e/cluster.hpp"
#include "tests/support/certificates.hpp"

namespace muster::e2e {
namespace {

namespace fs = std::filesystem;
using muster::test::authority;
using muster::test::certificate_request;

/// A server with certificates of `muster tls init`, and its clients.
class secure_cluster : public cluster {
 public:
  secure_cluster() {
    auto const made = run({"tls", "init", file("tls").string()});
    EXPECT_EQ(made.status, 0) << made.err;
  }
  std::string pem(std::string const& name) const { return (file("tls") / name).string(); }

  words server_flags(words more = {}) const {
    words all{"--tls-cert", pem("server.pem"), "--tls-key", pem("server.key")};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  words as(std::string const& who) const {
    return {"--ca", pem("ca.pem"), "--cert", pem(who + ".pem"), "--key", pem(who + ".key")};
  }
  /// Runs a command with the URL of the server, its CA certificate and the flags `more`.
  finished ask(words verb, words const& more = {}) {
    verb.insert(verb.end(), {"--url", "https://" + http(), "--ca", pem("ca.pem")});
    verb.insert(verb.end(), more.begin(), more.end());
    return run(verb);
  }
  bool await_workers(std::size_t n, words const& more = {}) {
    return await([&] {
      auto const listed = ask({"tasks", "--output", "json"}, more);
      if (listed.status != 0) return false;
      std::size_t connected = 0;
      for (auto at = listed.out.find("\"CONNECTED\""); at != std::string::npos;
           at = listed.out.find("\"CONNECTED\"", at + 1))
        ++connected;
      return connected == n;
    });
  }
  muster::tls_options trusting() const { return {pem("ca.pem")}; }
  std::string first_of_plaintext(std::string const& path = "/livez") {
    muster::http_client plain;
    muster::http_request r;
    r.url = url() + path;
    auto const answer = plain.send(r);
    return answer ? std::to_string(answer->status) + " " + answer->body : answer.error().message;
  }
};

TEST(tls, command_fails_at_once_if_a_file_is_unusable) {
  cluster c;
  auto const empty = c.write("empty.pem",
                             "-----BEGIN CERTIFICATE-----\nAAAA\n"
                             "-----END CERTIFICATE-----\n");
  for (std::string const flag : {"--ca", "--cert", "--key"}) {
    for (words const& verb : {words{"worker"}, words{"tasks"}, words{"launch", "--detach"}}) {
      auto all = verb;
      all.insert(all.end(), {flag, "/nowhere/a.pem"});
      if (flag == "--cert") all.insert(all.end(), {"--key", "/nowhere/a.key"});
      if (flag == "--key") all.insert(all.end(), {"--cert", "/nowhere/a.pem"});
      if (verb[0] == "launch") all.insert(all.end(), {"--", "true"});
      auto const refused = c.run(all);
      EXPECT_EQ(refused.status, 2) << verb[0];
      EXPECT_CONTAINS(refused.err, "/nowhere/a.pem: No such file or directory");
      EXPECT_EQ(std::count(refused.err.begin(), refused.err.end(), '\n'), 1) << refused.err;
    }
  }
  auto const unread = c.run({"worker", "--ca", empty.string()});
  EXPECT_EQ(unread.status, 2);
  EXPECT_CONTAINS(unread.err, empty.string() + ": contains no PEM certificate");
}

TEST(tls, jobs_run_and_plaintext_clients_get_a_hint) {
  secure_cluster c;
  auto& server = c.serve(c.server_flags());
  auto const ready = read_file(c.file("ready.json"));
  EXPECT_CONTAINS(ready, "\"tls\":true");
  EXPECT_TRUE(await([&] { return bool(test::contains(server.errors(), "dashboard=https://")); }))
      << server.errors();
  c.worker({"--ca", c.pem("ca.pem")});
  ASSERT_TRUE(c.await_workers(1));
  auto const done = c.ask({"submit", "muster.echo", "7"});
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_CONTAINS(c.first_of_plaintext(), "400 ");
  EXPECT_CONTAINS(c.first_of_plaintext(), "this port requires TLS");
  EXPECT_CONTAINS(c.first_of_plaintext(), R"("field":"scheme")");
  auto const lost = c.run({"tasks", "--url", "https://" + c.http(), "--ca", "/nowhere/ca.pem"});
  EXPECT_EQ(lost.status, 2);
  EXPECT_CONTAINS(lost.err, "/nowhere/ca.pem");
}

TEST(tls, certificate_grants_a_role_where_tokens_are_required) {
  secure_cluster c;
  c.serve(
      c.server_flags({"--tls-client-ca", c.pem("ca.pem"), "--tls-role", "worker=worker",
                      "--tls-role", "client=submitter", "--data-dir", c.file("data").string()}));
  c.worker(c.as("worker"));
  auto client = c.as("client");
  client.erase(client.begin(), client.begin() + 2);  // ask() adds --ca
  ASSERT_TRUE(c.await_workers(1, client));
  EXPECT_EQ(c.ask({"submit", "muster.echo", "7"}, client).out, "7\n");
  auto const nobody = c.ask({"jobs"});
  EXPECT_EQ(nobody.status, 1);
  EXPECT_CONTAINS(nobody.err, "no credentials");
  auto worker = c.as("worker");
  worker.erase(worker.begin(), worker.begin() + 2);
  EXPECT_CONTAINS(c.ask({"jobs"}, worker).err, "'certificate:worker' has the role worker");
  EXPECT_CONTAINS(c.ask({"token", "list"}, client).err, "cannot administer");
  // A token takes precedence over a certificate.
  auto const admin = (c.file("data") / "admin.token").string();
  client.insert(client.end(), {"--token-file", admin});
  EXPECT_EQ(c.ask({"token", "list"}, client).status, 0);
  auto const wrong = c.run({"serve", "--tls-role", "worker=worker"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_CONTAINS(wrong.err, "--tls-client-ca");
}

TEST(tls, server_certificate_of_another_authority_is_refused) {
  secure_cluster c;
  c.serve(c.server_flags());
  authority const other;
  auto const ca = c.write("other.pem", other.pem()).string();
  auto const asked = c.run({"tasks", "--url", "https://" + c.http(), "--ca", ca});
  EXPECT_EQ(asked.status, 1);
  EXPECT_CONTAINS(asked.err, "certificate was rejected");
  session_options o{.server = c.grpc()};
  o.tls.ca = ca;
  o.connect_timeout = 2s;
  muster::session s(o);
  EXPECT_THROW(s.wait_open(), session_error);
}

TEST(tls, library_sessions_and_workers_use_tls) {
  secure_cluster c;
  c.serve(c.server_flags());
  c.worker({"--ca", c.pem("ca.pem")});
  muster::session s({.server = c.grpc(), .tls = c.trusting()});
  s.wait_open();
  EXPECT_EQ(s.call<int>("muster.echo", 5).get(), 5);
  EXPECT_EQ(s.close(20s), "");
  EXPECT_THROW(muster::session({.server = c.grpc(), .tls = {"/nowhere/ca.pem"}}),
               std::invalid_argument);
}

TEST(tls, plaintext_workers_are_refused_early) {
  secure_cluster c;
  c.serve(c.server_flags());
  muster::session s({.server = c.grpc(), .connect_timeout = 1s});
  EXPECT_THROW(s.wait_open(), session_error);
}

TEST(tls, client_without_required_certificate_is_refused_on_both_ports) {
  secure_cluster c;
  c.serve(c.server_flags({"--tls-client-ca", c.pem("ca.pem"), "--tls-client-required"}));
  EXPECT_EQ(c.ask({"tasks"}, {"--cert", c.pem("client.pem"), "--key", c.pem("client.key")}).status,
            0);
  EXPECT_NE(c.ask({"tasks"}).status, 0);
  muster::session none({.server = c.grpc(), .tls = c.trusting(), .connect_timeout = 1s});
  EXPECT_THROW(none.wait_open(), session_error);
  auto shown = c.trusting();
  shown.certificate = c.pem("client.pem"), shown.key = c.pem("client.key");
  muster::session known({.server = c.grpc(), .tls = shown});
  known.wait_open();
}

TEST(tls, optional_client_certificate_must_be_valid_if_present) {
  secure_cluster c;
  c.serve(c.server_flags({"--tls-client-ca", c.pem("ca.pem")}));
  EXPECT_EQ(c.ask({"tasks"}).status, 0) << "nobody has to show one";
  authority const other;
  auto const wrong = other.issue({.common_name = "mallory"});
  auto const pem = c.write("wrong.pem", wrong.chain_pem).string();
  auto const key = c.write("wrong.key", wrong.key_pem).string();
  EXPECT_NE(c.ask({"tasks"}, {"--cert", pem, "--key", key}).status, 0);
  auto shown = c.trusting();
  shown.certificate = pem, shown.key = key;
  muster::session s({.server = c.grpc(), .tls = shown, .connect_timeout = 1s});
  EXPECT_THROW(s.wait_open(), session_error);
}

TEST(tls, replaced_certificate_applies_to_new_connections_only) {
  secure_cluster c;
  auto& server = c.serve(c.server_flags());
  c.worker({"--ca", c.pem("ca.pem")});
  muster::session s({.server = c.grpc(), .tls = c.trusting()});
  s.wait_open();
  muster::http_client kept({.ca_file = c.pem("ca.pem")});
  muster::http_request livez;
  livez.url = "https://" + c.http() + "/livez";
  ASSERT_TRUE(kept.send(livez));

  authority const next;
  auto const fresh = next.issue();
  auto const replace = [&](std::string const& name, std::string const& text) {
    fs::rename(c.write(name + ".next", text), c.pem(name));
  };
  replace("server.key", fresh.key_pem);
  ASSERT_TRUE(await([&] {
    return server.errors().find("does not match the certificate") != std::string::npos;
  })) << server.errors();
  EXPECT_EQ(c.ask({"tasks"}).status, 0) << "the old pair stays until the new one is whole";
  replace("server.pem", fresh.chain_pem);
  ASSERT_TRUE(await([&] { return server.errors().find("was replaced") != std::string::npos; }))
      << server.errors();

  auto const ca = c.write("next.pem", next.pem()).string();
  EXPECT_NE(c.ask({"tasks"}).status, 0)
      << "the old CA certificate must not verify the new certificate";
  EXPECT_EQ(c.run({"tasks", "--url", "https://" + c.http(), "--ca", ca}).status, 0);
  muster::session on_new({.server = c.grpc(), .tls = {ca}});
  on_new.wait_open();
  EXPECT_EQ(s.call<int>("muster.echo", 5).get(), 5) << "existing connections continue";
  EXPECT_TRUE(kept.send(livez));
}

TEST(tls, unusable_files_are_named_at_the_start) {
  secure_cluster c;
  auto const refused = [&](words const& flags) {
    words all{"serve", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0"};
    all.insert(all.end(), flags.begin(), flags.end());
    auto const done = c.run(all);
    EXPECT_EQ(done.status, 2) << done.err;
    return done.err;
  };
  auto const pem = c.pem("server.pem"), key = c.pem("server.key");
  EXPECT_CONTAINS(refused({"--tls-cert", pem}), "--tls-cert needs --tls-key");
  EXPECT_CONTAINS(refused({"--tls-cert", "/nowhere.pem", "--tls-key", key}),
                  "certificate /nowhere.pem: No such file");
  EXPECT_CONTAINS(refused({"--tls-cert", key, "--tls-key", key}),
                  key + ": contains no PEM certificate");
  EXPECT_CONTAINS(refused({"--tls-cert", pem, "--tls-key", c.pem("worker.key")}),
                  "worker.key: does not match the certificate " + pem);
  EXPECT_CONTAINS(refused({"--tls-cert", pem, "--tls-key", key, "--tls-client-required"}),
                  "--tls-client-required needs --tls-client-ca");
  EXPECT_CONTAINS(refused({"--cluster", "a:worker=1;agents=tls"}), "agents=tls requires a server");
}

TEST(tls, an_expired_certificate_is_served_with_a_warning_and_a_metric) {
  secure_cluster c;
  authority const own;
  auto const old = own.issue({.starts = std::chrono::hours(-48), .ends = std::chrono::hours(-24)});
  auto const pem = c.write("old.pem", old.chain_pem), key = c.write("old.key", old.key_pem);
  auto& server = c.serve({"--tls-cert", pem.string(), "--tls-key", key.string()});
  EXPECT_TRUE(server.says("has expired"));
  muster::http_client any({.verify = false});
  muster::http_request r;
  r.url = "https://" + c.http() + "/metrics";
  auto const metrics = any.send(r);
  ASSERT_TRUE(metrics) << metrics.error().message;
  auto const at = metrics->body.find("\nmuster_tls_certificate_expiry_seconds ");
  ASSERT_NE(at, std::string::npos);
  auto const expiry = std::stoll(metrics->body.substr(metrics->body.find(' ', at)));
  auto const now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  EXPECT_NEAR(static_cast<double>(expiry), static_cast<double>(now - 24 * 3600), 600.0);
}

coordination_options agent_at(std::string const& address) {
  coordination_options o;
  o.server = address;
  o.task = 0;
  return o;
}

std::string address_of(secure_cluster& c, std::string const& cluster) {
  auto const shown = c.ask({"clusters", "show", cluster, "--output", "json"});
  auto const address = boost::json::parse(shown.out).at("address");
  return std::string(address.as_string());
}

TEST(tls, agents_use_a_plaintext_port_unless_configured_for_tls) {
  secure_cluster c;
  c.serve(c.server_flags({"--cluster", "train:worker=1", "--cluster", "eval:worker=1;agents=tls",
                          "--cluster", "test:worker=1"}));
  auto const main = address_of(c, "train");
  EXPECT_NE(main, c.grpc()) << "a port separate from the TLS port";
  for (auto const& cluster : {"train", "test"}) {
    coordination_agent a(agent_at(address_of(c, cluster)));
    a.connect();
    a.set("k", cluster);
    EXPECT_EQ(c.ask({"kv", "get", "k", "--cluster", cluster}).out, cluster);
    a.shutdown();
  }
  auto o = agent_at(address_of(c, "eval"));
  o.tls = c.trusting();
  coordination_agent a(o);
  a.connect();
  a.set("k", "eval");
  EXPECT_EQ(c.ask({"kv", "get", "k", "--cluster", "eval"}).out, "eval");
  EXPECT_NE(c.ask({"kv", "get", "k", "--cluster", "train"}).out, "eval");
  auto in_the_clear = agent_at(address_of(c, "eval"));
  in_the_clear.connect_timeout = 1s;
  EXPECT_THROW(coordination_agent(in_the_clear).connect(), std::runtime_error);

  muster::session plain({.server = main});
  try {
    plain.wait_open();
    FAIL() << "plaintext clients cannot submit work";
  } catch (session_error const& e) {
    EXPECT_CONTAINS(std::string(e.what()), "this port serves only agents without TLS");
  }
}

TEST(tls, supervised_server_restarts_with_tls_on_the_same_sockets) {
  secure_cluster c;
  auto& parent = c.serve(c.server_flags(
      {"--supervise", "--data-dir", c.file("data").string(), "--cluster", "train:worker=1"}));
  c.worker({"--ca", c.pem("ca.pem")});
  ASSERT_TRUE(c.await_workers(1));
  auto const agents = address_of(c, "train");
  auto const server = first_child_of(parent.pid());
  ASSERT_GT(server, 0);
  ASSERT_EQ(::kill(server, SIGKILL), 0);
  auto const asked = c.ask({"tasks"});  // connects before the new server is ready
  EXPECT_EQ(asked.status, 0) << asked.err;
  EXPECT_EQ(address_of(c, "train"), agents);
  ASSERT_TRUE(c.await_workers(1));
  EXPECT_EQ(c.ask({"submit", "muster.echo", "7"}).status, 0);
}

TEST(tls, init_keeps_the_authority_and_issues_new_certificates) {
  secure_cluster c;
  auto const ca = read_file(c.pem("ca.pem")), before = read_file(c.pem("server.pem"));
  auto const again = c.run({"tls", "init", c.file("tls").string(), "--host", "a.example"});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(read_file(c.pem("ca.pem")), ca);
  EXPECT_NE(read_file(c.pem("server.pem")), before);
  EXPECT_EQ(c.run({"tls", "issue", c.file("tls").string(), "ci", "--days", "7"}).status, 0);
  for (auto const* key : {"ca.key", "server.key", "worker.key", "client.key", "ci.key"})
    EXPECT_EQ(fs::status(c.pem(key)).permissions(), fs::perms::owner_read | fs::perms::owner_write)
        << key;
  EXPECT_EQ(c.run({"tls", "issue", c.file("tls").string(), "../x"}).status, 2);
  EXPECT_EQ(c.run({"tls", "issue", c.file("tls").string(), "ca"}).status, 2);
  EXPECT_EQ(c.run({"tls", "init", c.file("tls").string(), "--host", "a b"}).status, 2);
  fs::remove(c.pem("ca.key"));
  auto const half = c.run({"tls", "init", c.file("tls").string()});
  EXPECT_EQ(half.status, 1);
  EXPECT_CONTAINS(half.err, "ca.key does not exist. Create certificates on the machine");
}

}  // namespace
}  // namespace muster::e2e
