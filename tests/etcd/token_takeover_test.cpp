// Tokens of servers with one store: what the leader has said of them holds with the next one.
#include <gtest/gtest.h>
#include <signal.h>

#include "http_client/http_client.hpp"
#include "tests/e2e/cluster.hpp"
#include "tests/etcd/members.hpp"
#include "tests/support/cannot_run.hpp"

namespace muster::e2e {
namespace {

std::string first_line(std::string const& text) {
  return text.substr(0, text.find('\n'));
}

unsigned readiness(std::string const& http) {
  http_request r;
  r.url = "http://" + http + "/readyz";
  auto const answer = http_client().send(r);
  return answer ? answer->status : 0;
}

TEST(tokens_on_etcd, are_the_next_leaders_with_all_that_was_said_of_them) {
  if (!test::etcd_is_installed()) return test::cannot_run("/usr/bin/etcd is not there");
  test::etcd_members members(1);
  cluster a, b;
  auto& leader = a.serve({"--store", members.url(), "--auth", "on", "--admin-token-file",
                          a.file("admin.token").string()});
  auto const next = "127.0.0.1:" + std::to_string(test::free_port());
  auto& standby = b.spawn(
      {"serve", "--store", members.url(), "--auth", "on", "--grpc", "127.0.0.1:0", "--http", next});
  ASSERT_TRUE(await([&] { return readiness(next) == 503; })) << standby.errors();

  auto const admin = first_line(read_file(a.file("admin.token")));
  auto const at = [&](std::string const& http, std::string const& token, words verb) {
    verb.insert(verb.end(), {"--url", "http://" + http});
    return b.run(verb, {}, {{"MUSTER_TOKEN", token}});
  };
  auto const make = [&] {
    auto const made = at(a.http(), admin, {"token", "create", "--role", "viewer"});
    EXPECT_EQ(made.status, 0) << made.err;
    return first_line(made.out);
  };
  auto const id_of = [](std::string const& t) { return t.substr(7, t.rfind('.') - 7); };
  auto const kept = make(), revoked = make(), rotated = make();
  EXPECT_EQ(at(a.http(), admin, {"token", "revoke", id_of(revoked)}).status, 0);
  auto const renewed = at(a.http(), admin, {"token", "rotate", id_of(rotated)});
  EXPECT_EQ(renewed.status, 0) << renewed.err;
  leader.signal(SIGKILL);
  ASSERT_TRUE(await([&] { return readiness(next) == 200; })) << standby.errors();

  EXPECT_EQ(at(next, kept, {"jobs"}).status, 0);
  EXPECT_EQ(at(next, first_line(renewed.out), {"jobs"}).status, 0);
  EXPECT_EQ(at(next, admin, {"token", "list"}).status, 0);
  for (auto const& gone : {revoked, rotated, std::string()}) {
    auto const refused = at(next, gone, {"jobs"});
    EXPECT_EQ(refused.status, 1) << refused.out;
    EXPECT_NE(refused.err.find(gone.empty() ? "no credentials" : "unknown, revoked or expired"),
              std::string::npos)
        << refused.err;
  }
}

}  // namespace
}  // namespace muster::e2e
