// Replies wait for the simulated disk.
#include <gtest/gtest.h>

#include "base/no_room.hpp"
#include "server/hub/coordination_hub.hpp"

namespace muster::server {
namespace durable_replies_cases {

constexpr core::time_point at{std::chrono::seconds(1'700'000'000)};

struct durable_replies : testing::Test {
  using cluster_id = core::coordination::cluster_id;

  std::uint64_t written = 0;
  commit_queue commits;
  bool full = false;
  std::string log;
  coordination_hub hub{
      {.journalled = true},
      1,
      {.now = [] { return at; },
       .arm = [](core::time_point) {},
       .tell = [](log_event const&) {},
       .write_down = [this](auto const&) { commits.wrote(++written); },
       .commits = &commits,
       .journal_refusal = [this] { return full ? no_room("d", "0 MiB") : muster::status{}; },
       .store = [] { return store_view{}; }}};
  cluster_id c = hub.create({.name = "train", .jobs = {{"worker", 1, false}}}).value();

  template <class Request>
  void ask(Request r, std::string const& name) {
    hub.ask(c, std::move(r),
            [this, name](auto const& reply) { log += name + (reply.fault ? "! " : " "); });
  }
  template <class Request>
  void ask_as(core::coordination::task_index t, Request r, std::string const& name) {
    r.task.index = t;
    r.incarnation = core::incarnation{7 + t};
    ask(std::move(r), name);
  }
  void put(std::string const& key) {
    ask(
        core::coordination::insert_key_value{
            .from = {}, .key = key, .value = core::blob("v"), .overwrite = true},
        key);
  }
  void get(std::string const& key) {
    core::coordination::get_key_value r;
    r.key = key;
    r.wait = false;
    ask(std::move(r), "get:" + key);
  }
};

TEST_F(durable_replies, replies_wait_in_order_and_report_a_failed_disk) {
  put("a");
  get("a");  // must wait: the value is not on the disk
  put("b");
  hub.when_durable([&](auto const& lost) { log += lost.ok() ? "all " : "all! "; });
  EXPECT_EQ(log, "");
  commits.on_durable(2, {}, at);
  EXPECT_EQ(log, "a get:a ");
  commits.on_durable(3, {}, at);
  EXPECT_EQ(log, "a get:a b all ");
  full = true;
  put("c");
  get("a");
  EXPECT_EQ(log, "a get:a b all c! get:a ");
  full = false;
  put("d");
  commits.on_durable(3, {code::internal, "no space"}, at);
  put("e");
  get("a");
  hub.when_durable([&](auto const& lost) { log += lost.ok() ? "all " : "all! "; });
  EXPECT_EQ(log, "a get:a b all c! get:a d! e! get:a all! ");
  get("d");  // is in memory and will never be stored
  EXPECT_EQ(log, "a get:a b all c! get:a d! e! get:a all! get:d! ");
  EXPECT_TRUE(hub.durable()->failed());
  EXPECT_EQ(hub.durable()->failed_since, at);
}

// Found by scripts/robustness: an insert reported an existing key whose write was lost.
TEST_F(durable_replies, key_that_was_not_stored_is_not_returned) {
  put("a");
  commits.on_durable(written, {}, at);
  put("b");
  std::vector<code> codes;
  for (auto const* key : {"a", "b"}) {
    core::coordination::insert_key_value r;
    r.key = key;
    r.value = core::blob("w");
    hub.ask(c, std::move(r), [&](auto const& reply) { codes.push_back(reply.fault->code); });
  }
  EXPECT_EQ(codes, std::vector{code::already_exists}) << "the disk has this key";
  commits.on_durable(written - 1, {code::internal, "no space"}, at);
  EXPECT_EQ(codes, (std::vector{code::already_exists, code::unavailable}));
}

TEST_F(durable_replies, report_no_error_that_rests_on_a_lost_key) {
  put("a");
  commits.on_durable(written, {}, at);
  put("b");
  std::vector<code> codes;
  core::coordination::increment_key_value r;
  r.key = "b";
  hub.ask(c, std::move(r), [&](auto const& reply) { codes.push_back(reply.fault->code); });
  EXPECT_TRUE(codes.empty()) << "the text in this key is not on the disk";
  commits.on_durable(written - 1, {code::internal, "no space"}, at);
  EXPECT_EQ(codes, std::vector{code::unavailable});
}

TEST_F(durable_replies, no_deletion_is_reported_before_it_is_stored) {
  put("a");
  commits.on_durable(written, {}, at);
  log.clear();
  auto const erase = [this](std::string const& key, std::string const& name) {
    core::coordination::delete_key_value r;
    r.key = key;
    ask(std::move(r), name);
  };
  erase("none", "absent");
  EXPECT_EQ(log, "absent ") << "the disk has all keys";
  erase("a", "first");
  erase("a", "again");
  EXPECT_EQ(log, "absent ");
  commits.on_durable(written - 1, {code::internal, "no space"}, at);
  EXPECT_EQ(log, "absent first! again! ") << "after a restart this key is there again";
}

TEST_F(durable_replies, key_that_was_not_stored_is_not_listed) {
  put("d/a");
  commits.on_durable(written, {}, at);
  log.clear();
  auto const list = [this](std::string const& name) {
    core::coordination::get_key_value_dir r;
    r.directory = "d";
    ask(std::move(r), name);
  };
  list("durable");
  EXPECT_EQ(log, "durable ");
  put("d/b");
  list("both");
  EXPECT_EQ(log, "durable ");
  commits.on_durable(written - 1, {code::internal, "no space"}, at);
  EXPECT_EQ(log, "durable d/b! both! ");
}

TEST_F(durable_replies, replies_about_stored_state_are_immediate) {
  get("a");
  EXPECT_EQ(log, "") << "its cluster does not exist yet";
  commits.on_durable(written, {}, at);
  put("a");
  ask_as(0, core::coordination::register_task(), "begins");
  ask_as(0, core::coordination::heartbeat(), "beats");
  EXPECT_EQ(log, "get:a! ");
  commits.on_durable(written, {}, at);
  EXPECT_EQ(log, "get:a! a begins beats ");
  log.clear();
  put("b");
  get("a");
  get("/a/");  // normalised to the same key
  get("c");
  ask_as(0, core::coordination::heartbeat(), "beats");
  EXPECT_EQ(log, "get:a get:/a/ get:c! beats ");
  log.clear();
  get("b");
  hub.when_told(c, "b", [&](auto const& lost) { log += lost.ok() ? "told " : "lost "; });
  hub.when_told(c, "a", [&](auto const&) { log += "at once "; });
  EXPECT_EQ(log, "at once ");
  commits.on_durable(written, {}, at);
  EXPECT_EQ(log, "at once b get:b told ");
}

TEST_F(durable_replies, heartbeats_are_answered_after_a_disk_failure) {
  c = hub.create({.name = "pair", .jobs = {{"worker", 2, true}}}).value();
  for (core::coordination::task_index t : {0u, 1u})
    ask_as(t, core::coordination::register_task(), "");
  commits.on_durable(written, {}, at);
  commits.on_durable(written, {code::internal, "no space"}, at);
  log.clear();
  // Its fact is never stored.
  core::coordination::get_key_value notice;
  notice.key = "RECEIVED_PREEMPTION_NOTICE";
  notice.incarnation = core::incarnation{7};
  auto const before = written;
  hub.ask(c, std::move(notice), [](auto const&) {});
  EXPECT_GT(written, before);
  ask_as(0, core::coordination::heartbeat(), "first");
  EXPECT_EQ(log, "first ");
  core::coordination::report_error broken;
  broken.task.index = 1;
  broken.code = code::internal;
  hub.ask(c, std::move(broken), [](auto const&) {});
  ask_as(0, core::coordination::heartbeat(), "second");
  EXPECT_EQ(log, "first second ");
}

}  // namespace durable_replies_cases
}  // namespace muster::server
