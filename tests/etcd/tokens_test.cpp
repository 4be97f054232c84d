#include <gtest/gtest.h>
#include <signal.h>

#include "base/http_client/http_client.hpp"
#include "tests/e2e/cluster.hpp"
#include "tests/etcd/members.hpp"
#include "tests/support/cannot_run.hpp"

namespace muster::e2e {
namespace {

std::string id_of(std::string const& token) {
  return token.substr(7, token.rfind('.') - 7);
}

class tokens_in_etcd : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!test::etcd_is_installed()) return test::cannot_run("/usr/bin/etcd is not there");
    members_.emplace(1);
  }
  finished command(words const& all, std::string const& token = {}) {
    auto& p = box_.spawn(all, {{"MUSTER_TOKEN", token}});
    auto const status = p.wait();
    return {status.value_or(-1), p.output(), p.errors()};
  }
  finished stopped(words all) {
    all.insert(all.begin(), "token");
    all.insert(all.end(), {"--store", members_->url()});
    return command(all);
  }
  std::string made(words const& all) {
    auto const f = stopped(all);
    EXPECT_EQ(f.status, 0) << f.err;
    return first_line(f.out);
  }
  process& serve(std::string const& http) {
    return box_.spawn(
        {"serve", "--http", http, "--grpc", "127.0.0.1:0", "--store", members_->url()});
  }
  static std::string address() { return "127.0.0.1:" + std::to_string(test::free_port()); }
  static unsigned readiness(std::string const& http) {
    http_request r;
    r.method = "GET";
    r.url = "http://" + http + "/readyz";
    auto const answer = http_client().send(r);
    return answer ? answer->status : 0;
  }
  static bool serves(std::string const& http) {
    return await([&] { return readiness(http) == 200; }, std::chrono::seconds(20));
  }
  int jobs(std::string const& http, std::string const& token) {
    return command({"jobs", "--url", "http://" + http}, token).status;
  }

  std::optional<test::etcd_members> members_;
  cluster box_;
};

TEST_F(tokens_in_etcd, tokens_are_valid_on_the_leader_and_its_successor) {
  auto const admin = made({"create", "--role", "admin", "--name", "first"});
  auto const viewer = made({"create", "--role", "viewer"});
  auto const old = made({"create", "--role", "submitter", "--expires", "30d"});
  EXPECT_EQ(stopped({"revoke", id_of(viewer)}).out, "token " + id_of(viewer) + " is revoked\n");
  EXPECT_EQ(stopped({"revoke", id_of(viewer)}).status, 1);
  auto const submitter = made({"rotate", id_of(old)});
  auto const listed = stopped({"list"});
  EXPECT_CONTAINS(listed.out, id_of(admin));
  EXPECT_CONTAINS(listed.out, id_of(submitter));
  EXPECT_EQ(listed.out.find(id_of(viewer)), std::string::npos) << listed.out;

  auto const known = [&](std::string const& http) {
    EXPECT_EQ(jobs(http, admin), 0);
    EXPECT_EQ(jobs(http, submitter), 0);
    EXPECT_EQ(jobs(http, viewer), 1) << "it is revoked";
    EXPECT_EQ(jobs(http, old), 1) << "it has another secret";
    EXPECT_EQ(jobs(http, ""), 1) << "the server requires one since tokens exist";
  };
  auto const a = address(), b = address();
  auto& first = serve(a);
  ASSERT_TRUE(serves(a)) << first.errors();
  known(a);
  auto const refused = stopped({"create", "--role", "admin"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_CONTAINS(refused.err, members_->url() + ": a server is using it: " + a);
  EXPECT_EQ(refused.out, "");

  auto& second = serve(b);
  ASSERT_TRUE(await([&] { return readiness(b) == 503; })) << second.errors();
  auto const at_the_server = command(
      {"token", "create", "--role", "viewer", "--url", "http://" + a, "--name", "later"}, admin);
  EXPECT_EQ(at_the_server.status, 0) << at_the_server.err;
  first.kill_at_once();
  ASSERT_TRUE(serves(b)) << second.errors();
  known(b);
  EXPECT_EQ(jobs(b, first_line(at_the_server.out)), 0);

  second.kill_at_once();
  EXPECT_EQ(stopped({"list"}).status, 2) << "a dead server leads until etcd removes its lease";
  ASSERT_TRUE(await([&] { return stopped({"list"}).status == 0; }, std::chrono::seconds(20)));
  EXPECT_CONTAINS(stopped({"list"}).out, "later-");
}

TEST_F(tokens_in_etcd, invalid_requests_are_one_clear_line) {
  auto const said = [&](words const& what, int status) {
    auto const r = command(what);
    EXPECT_EQ(r.status, status) << r.err;
    return r.err;
  };
  auto const nobody = "127.0.0.1:" + std::to_string(test::free_port());
  EXPECT_CONTAINS(said({"token", "list", "--store", "etcd://" + nobody + "/p"}, 1), nobody);
  EXPECT_CONTAINS(said({"token", "list", "--store", "etcd://127.0.0.1"}, 2), "etcd://");
  EXPECT_CONTAINS(said({"token", "list", "--store", members_->url(), "--store-ca", "/tmp/x"}, 2),
                  "etcds://");
  EXPECT_CONTAINS(said({"token", "list", "--store", members_->url(), "--data-dir", "/tmp/x"}, 2),
                  "--data-dir");
  ASSERT_EQ(members_->control({"put", "/test/d/x", "=y"}), 0);
  EXPECT_CONTAINS(said({"token", "create", "--role", "admin", "--store", members_->url()}, 2),
                  "is an interrupted copy");
}

}  // namespace
}  // namespace muster::e2e
