// The coordination hub's replies, which wait in line for a disk that the test plays.
#include <gtest/gtest.h>

#include "base/no_room.hpp"
#include "server/hub/coordination_hub.hpp"

namespace muster::server {
namespace durable_replies_cases {

constexpr core::time_point at{std::chrono::seconds(1'700'000'000)};

TEST(durable_replies, wait_in_order_and_say_when_the_disk_has_failed) {
  std::uint64_t written = 0;
  bool full = false;
  coordination_hub hub(
      {.journalled = true}, 1,
      {.now = [] { return at; },
       .arm = [](core::time_point) {},
       .tell = [](notice const&) {},
       .write_down = [&](auto) { return ++written; },
       .journal_refusal = [&] { return full ? no_room("d", "0 MiB") : muster::status{}; },
       .store = [] { return store_view{}; }});
  auto const c = hub.create({.name = "train", .jobs = {{"worker", 1, false}}});
  ASSERT_TRUE(c.has_value());
  std::string log;
  auto const put = [&](std::string const& key) {
    core::coordination::insert_key_value r{
        .from = {}, .key = key, .value = core::blob("v"), .overwrite = true};
    hub.ask(*c, std::move(r),
            [&log, key](auto const& reply) { log += key + (reply.fault ? "! " : " "); });
  };
  auto const get = [&](std::string const& key) {
    core::coordination::get_key_value r;
    r.key = key;
    hub.ask(*c, std::move(r),
            [&log, key](auto const& reply) { log += "get:" + key + (reply.fault ? "! " : " "); });
  };
  put("a");
  get("a");  // would tell of what the disk does not have
  put("b");
  hub.when_durable([&](auto const& lost) { log += lost.ok() ? "all " : "all! "; });
  EXPECT_EQ(log, "");
  hub.on_durable(2, {});
  EXPECT_EQ(log, "a get:a ");
  hub.on_durable(3, {});
  EXPECT_EQ(log, "a get:a b all ");
  full = true;
  put("c");
  get("a");
  EXPECT_EQ(log, "a get:a b all c! get:a ");
  full = false;
  put("d");
  hub.on_durable(3, {code::internal, "no space"});
  put("e");
  get("a");
  hub.when_durable([&](auto const& lost) { log += lost.ok() ? "all " : "all! "; });
  EXPECT_EQ(log, "a get:a b all c! get:a d! e! get:a all! ");
  get("d");  // is in memory, and will never be anywhere else
  EXPECT_EQ(log, "a get:a b all c! get:a d! e! get:a all! get:d! ");
  EXPECT_TRUE(hub.durable()->failed());
  EXPECT_EQ(hub.durable()->failed_since, at);
}

TEST(durable_replies, about_what_is_on_the_disk_wait_for_nothing) {
  std::uint64_t written = 0;
  coordination_hub hub({.journalled = true}, 1,
                       {.now = [] { return at; },
                        .arm = [](core::time_point) {},
                        .tell = [](notice const&) {},
                        .write_down = [&](auto) { return ++written; },
                        .store = [] { return store_view{}; }});
  auto const c = hub.create({.name = "train", .jobs = {{"worker", 1, false}}});
  ASSERT_TRUE(c.has_value());
  std::string log;
  auto const tell = [&log](std::string const& what) {
    return [&log, what](auto const& reply) { log += what + (reply.fault ? "! " : " "); };
  };
  auto const put = [&](std::string const& key) {
    hub.ask(*c,
            core::coordination::insert_key_value{
                .from = {}, .key = key, .value = core::blob("v"), .overwrite = true},
            tell(key));
  };
  auto const get = [&](std::string const& key) {
    core::coordination::get_key_value r;
    r.key = key;
    r.wait = false;
    hub.ask(*c, std::move(r), tell("get:" + key));
  };
  auto const ask = [&](auto r, std::string const& name) {
    r.task.index = 0;
    r.incarnation = core::incarnation{7};
    hub.ask(*c, std::move(r), tell(name));
  };
  get("a");
  EXPECT_EQ(log, "") << "its cluster is not there yet";
  hub.on_durable(written, {});
  put("a");
  ask(core::coordination::register_task(), "begins");
  ask(core::coordination::heartbeat(), "beats");
  EXPECT_EQ(log, "get:a! ");
  hub.on_durable(written, {});
  EXPECT_EQ(log, "get:a! a begins beats ");
  log.clear();
  put("b");
  get("a");
  get("/a/");  // the same key
  get("c");
  ask(core::coordination::heartbeat(), "beats");
  EXPECT_EQ(log, "get:a get:/a/ get:c! beats ");
  log.clear();
  get("b");
  hub.when_told(*c, "b", [&](auto const& lost) { log += lost.ok() ? "told " : "lost "; });
  hub.when_told(*c, "a", [&](auto const&) { log += "at once "; });
  EXPECT_EQ(log, "at once ");
  hub.on_durable(written, {});
  EXPECT_EQ(log, "at once b get:b told ");
}

TEST(durable_replies, who_beats_goes_on_when_the_disk_has_failed) {
  std::uint64_t written = 0;
  coordination_hub hub({.journalled = true}, 1,
                       {.now = [] { return at; },
                        .arm = [](core::time_point) {},
                        .tell = [](notice const&) {},
                        .write_down = [&](auto) { return ++written; },
                        .store = [] { return store_view{}; }});
  auto const c = hub.create({.name = "train", .jobs = {{"worker", 2, true}}});
  ASSERT_TRUE(c.has_value());
  std::string log;
  auto const ask = [&](auto r, core::coordination::task_index t, std::string const& name) {
    r.task.index = t;
    r.incarnation = core::incarnation{7 + t};
    hub.ask(*c, std::move(r),
            [&log, name](auto const& reply) { log += name + (reply.fault ? "! " : " "); });
  };
  for (core::coordination::task_index t : {0u, 1u}) ask(core::coordination::register_task(), t, "");
  hub.on_durable(written, {});
  hub.on_durable(written, {code::internal, "no space"});
  log.clear();
  // What it is to be remembered by is never on the disk.
  core::coordination::get_key_value notice;
  notice.key = "RECEIVED_PREEMPTION_NOTICE";
  notice.incarnation = core::incarnation{7};
  auto const before = written;
  hub.ask(*c, std::move(notice), [](auto const&) {});
  EXPECT_GT(written, before);
  ask(core::coordination::heartbeat(), 0, "first");
  EXPECT_EQ(log, "first ");
  core::coordination::report_error broken;
  broken.task.index = 1;
  broken.code = code::internal;
  hub.ask(*c, std::move(broken), [](auto const&) {});
  ask(core::coordination::heartbeat(), 0, "second");
  EXPECT_EQ(log, "first second ");
}

}  // namespace durable_replies_cases
}  // namespace muster::server
