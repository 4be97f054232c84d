#include <gtest/gtest.h>
#include <signal.h>

#include <boost/json.hpp>

#include "base/http_client/http_client.hpp"
#include "muster/journal/v1/records.pb.h"
#include "server/journal/etcd/etcd_store.hpp"
#include "server/journal/etcd/etcd_version.hpp"
#include "server/journal/etcd/upkeep.hpp"
#include "tests/e2e/cluster.hpp"
#include "tests/etcd/members.hpp"
#include "tests/support/cannot_run.hpp"

namespace muster::e2e {
namespace {

namespace json = boost::json;
using accepted = muster::journal::v1::Accepted;

class data_on_etcd : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!test::etcd_is_installed()) return test::cannot_run("/usr/bin/etcd is not there");
    members_.emplace(1);
  }
  std::string url(std::string const& prefix) const {
    return members_->url().substr(0, members_->url().rfind('/')) + prefix;
  }
  finished data(words const& what) {
    words all{"data"};
    all.insert(all.end(), what.begin(), what.end());
    auto& p = box_.spawn(all);
    auto const status = p.wait();
    return {status.value_or(-1), p.output(), p.errors()};
  }
  std::string put(cluster& c, std::string const& key, std::string const& text) {
    http_request r;
    r.method = "PUT";
    r.url = c.url() + "/api/v1/clusters/train/kv/" + key;
    r.body = text;
    auto const answer = http_client().send(r);
    return answer && answer->ok() ? "" : "not put";
  }
  /// Moves the only closure of the second job to the key of the first job's closure.
  void collide(std::string const& prefix) {
    namespace journal = server::journal;
    auto access = members_->access();
    access.where.prefix = prefix;
    auto const over = [](std::string const& why) { throw std::runtime_error(why); };
    auto const lead = journal::etcd::acquire_exclusive_leadership(access, "a test", "", over);
    ASSERT_TRUE(lead) << lead.error().message;
    auto const store = journal::etcd::etcd_store::open(access, (*lead)->begun(), {1 << 30, over});
    ASSERT_TRUE(store) << store.error().message;
    std::vector<std::pair<std::string, accepted>> requests;
    ASSERT_TRUE((*store)
                    ->read(std::string("a\0", 2),
                           [&](std::string_view key, std::string_view value) {
                             auto& r = requests.emplace_back(std::string(key), accepted());
                             return r.second.ParseFromString(std::string(value));
                           })
                    .ok());
    ASSERT_EQ(requests.size(), 2u);
    auto& [key, second] = requests[1];
    second.set_ids(0, (requests[0].second.ids(0) & 0xffffffff) | std::uint64_t{9} << 32);
    ASSERT_TRUE(
        (*store)->write({{journal::change::kind::put, key, second.SerializeAsString()}}).ok());
  }
  static words with(std::string const& flag, std::string const& where) {
    return {flag, where, "--cluster", "train:worker=2"};
  }

  std::optional<test::etcd_members> members_;
  cluster box_;
};

TEST_F(data_on_etcd, can_be_copied_to_a_directory_and_back) {
  auto const here = url("/a"), there = url("/b");
  auto const backup = box_.file("backup").string(), again = box_.file("again").string();
  json::value incarnation;
  auto const large = std::string(2 << 20, 'x');
  {
    cluster a;
    auto& server = a.serve(with("--store", here));
    ASSERT_EQ(put(a, "a/b", "hello"), "");
    ASSERT_EQ(put(a, "large", large), "");
    incarnation = a.get("/api/v1/clusters/train").at("generation").at("incarnation");

    auto const checked = data({"check", here});
    EXPECT_EQ(checked.status, 0) << checked.err;
    EXPECT_CONTAINS(checked.out, "the leader is " + a.http());
    EXPECT_CONTAINS(checked.out, here + ": all data can be read");
    auto const told = json::parse(data({"check", here, "--output", "json"}).out);
    EXPECT_EQ(told.at("store"), json::value(here));
    EXPECT_EQ(told.at("in_use"), json::value(true));
    EXPECT_EQ(told.at("leader"), json::value(a.http()));
    auto const dumped = data({"dump", here, "--kind", "key", "--limit", "1"});
    EXPECT_EQ(dumped.status, 0) << dumped.err;
    EXPECT_CONTAINS(dumped.out, R"({"kind":"key","cluster":"train","key":"a/b","entry":)");
    auto const copied = data({"backup", here, backup});
    EXPECT_EQ(copied.status, 0) << copied.err;
    EXPECT_EQ(data({"check", backup}).status, 0);
    auto const refused = data({"restore", backup, here});
    EXPECT_EQ(refused.status, 2);
    EXPECT_CONTAINS(refused.err, here + ": a server is using it: " + a.http());
    auto const trimmed = data({"compact", here});
    EXPECT_EQ(trimmed.status, 0) << trimmed.err;
    EXPECT_CONTAINS(trimmed.out, "deleted its history up to revision");
    EXPECT_EQ(put(a, "a/c", "it goes on"), "");
    server.signal(SIGTERM);
    EXPECT_EQ(server.wait(), 0) << server.errors();
  }
  auto const refused = data({"restore", backup, here});
  EXPECT_EQ(refused.status, 2);
  EXPECT_CONTAINS(refused.err, "already contains");
  auto const restored = data({"restore", backup, there});
  EXPECT_EQ(restored.status, 0) << restored.err;
  EXPECT_CONTAINS(restored.out, "muster serve --store " + there);
  {
    cluster b;
    auto& server = b.serve(with("--store", there));
    EXPECT_EQ(b.text("/api/v1/clusters/train/kv/a/b"), "hello");
    EXPECT_EQ(b.text("/api/v1/clusters/train/kv/large"), large);
    EXPECT_EQ(b.status_of("/api/v1/clusters/train/kv/a/c"), 404u) << "it was started later";
    EXPECT_EQ(b.get("/api/v1/clusters/train").at("generation").at("incarnation"), incarnation);
    server.signal(SIGTERM);
    EXPECT_EQ(server.wait(), 0) << server.errors();
  }
  EXPECT_EQ(data({"restore", there, again}).status, 0);
  cluster c;
  c.serve(with("--data-dir", again));
  EXPECT_EQ(c.text("/api/v1/clusters/train/kv/a/b"), "hello");
  EXPECT_EQ(c.text("/api/v1/clusters/train/kv/large"), large);
}

TEST_F(data_on_etcd, invalid_requests_are_one_clear_line) {
  auto const said = [&](words const& what, int status) {
    auto const r = data(what);
    EXPECT_EQ(r.status, status) << r.err;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
    return r.err;
  };
  EXPECT_CONTAINS(said({"check", url("/nothing")}, 2), "/nothing: is not Muster server");
  auto const nobody = "127.0.0.1:" + std::to_string(test::free_port());
  EXPECT_CONTAINS(said({"check", "etcd://" + nobody + "/p"}, 1),
                  "asked for entries: " + nobody + " (connection refused)");
  EXPECT_CONTAINS(said({"check", "etcd://127.0.0.1"}, 2), "etcd://");
  EXPECT_CONTAINS(said({"check", url("/p"), "--store-ca", "/tmp/x"}, 2), "etcds://");
}

// The store was written by a leader with outdated data: closures of two jobs have the same key.
TEST_F(data_on_etcd, repair_recovers_every_job_of_a_store_that_no_server_opens) {
  auto const here = url("/a"), copy = box_.file("copy").string();
  auto const serve = words{"--store", here};
  {
    cluster a;
    auto& server = a.serve(serve);
    for (auto const* name : {"first", "second"})
      (void)a.post("/api/v1/jobs", R"({"name":")" + std::string(name) +
                                       R"(","closures":[{"function":"muster.echo","args":[1]}]})");
    auto const refused = data({"repair", here, copy});
    EXPECT_EQ(refused.status, 2);
    EXPECT_CONTAINS(refused.err, here + ": a server is using it: " + a.http());
    server.signal(SIGTERM);
    EXPECT_EQ(server.wait(), 0) << server.errors();
  }
  collide("/a");
  auto& p =
      box_.spawn({"serve", "--store", here, "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"});
  EXPECT_NE(p.wait(), 0);
  EXPECT_TRUE(p.says("have the same id; 'muster data repair' gives each closure its own id"));
  auto const found = data({"check", here});
  EXPECT_EQ(found.status, 1);
  EXPECT_CONTAINS(found.err, "have the same id");
  EXPECT_EQ(std::count(found.err.begin(), found.err.end(), '\n'), 1) << found.err;
  auto const planned = data({"repair", here, "--dry-run"});
  EXPECT_EQ(planned.status, 0) << planned.err;
  EXPECT_CONTAINS(planned.out, "planned change: gives closure cl_");
  EXPECT_EQ(data({"check", here}).status, 1) << "a dry run changes nothing";
  auto const repaired = data({"repair", here, copy});
  EXPECT_EQ(repaired.status, 0) << repaired.err;
  EXPECT_CONTAINS(repaired.out, here + ": repaired, 1 closure renamed, 0 entries removed; " + copy);
  EXPECT_EQ(data({"check", here}).status, 0);
  EXPECT_CONTAINS(data({"repair", here, copy + ".2"}).out, "needs no repair");
  EXPECT_EQ(data({"check", copy}).status, 1) << "the copy equals the original store";

  cluster b;
  b.serve(serve);
  std::vector<std::string> names;
  auto const listed = b.get("/api/v1/jobs");
  for (auto const& j : listed.at("jobs").as_array()) names.emplace_back(j.at("name").as_string());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"first", "second"}));
  b.worker();
  for (auto const& j : listed.at("jobs").as_array()) {
    auto const ended =
        b.get("/api/v1/jobs/" + std::string(j.at("id").as_string()) + "/join?timeout=30s");
    EXPECT_EQ(ended.at("state"), "SUCCEEDED");
  }
}

TEST_F(data_on_etcd, doctor_warns_of_a_version_that_can_answer_with_old_data) {
  cluster a;
  auto& server = a.serve({"--store", url("/a")});
  auto const version =
      std::string(a.get("/api/v1/overview").at("durable").at("store_version").as_string());
  auto const old = server::journal::etcd::can_answer_with_old_data(version);
  auto const told = json::parse(a.run({"doctor", "--output", "json"}).out);
  int found = 0;
  for (auto const& f : told.at("findings").as_array()) {
    if (f.at("check") != "etcd") continue;
    ++found;
    EXPECT_EQ(f.at("result"), old ? "warning" : "ok");
    EXPECT_CONTAINS(f.at("text").as_string(), "etcd " + version);
  }
  EXPECT_EQ(found, 1);
  EXPECT_EQ(static_cast<bool>(server.says("etcd issue 20418")), old);
}

// The state that a killed restore leaves.
TEST_F(data_on_etcd, a_server_refuses_a_prefix_without_its_format) {
  ASSERT_EQ(members_->control({"put", "/a/d/x", "=y"}), 0);
  auto& p =
      box_.spawn({"serve", "--store", url("/a"), "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"});
  EXPECT_EQ(p.wait(), 2);
  EXPECT_TRUE(p.says("is an interrupted copy"));
}

}  // namespace
}  // namespace muster::e2e
