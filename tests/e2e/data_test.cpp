#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <fstream>
#include <map>
#include <thread>

#include "muster/journal/v1/records.pb.h"
#include "server/journal/rocks_store.hpp"
#include "tests/e2e/cluster.hpp"

namespace muster::e2e {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

void expect_one_line(finished const& f, int status, std::string const& part) {
  EXPECT_EQ(f.status, status) << f.err;
  EXPECT_CONTAINS(f.err, part);
  EXPECT_EQ(std::count(f.err.begin(), f.err.end(), '\n'), 1) << f.err;
}

void stop(process& server) {
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait(), 0);
}

// Returns names, contents and times.
std::map<std::string, std::string> state_of(fs::path const& directory) {
  std::map<std::string, std::string> all;
  for (auto const& f : fs::directory_iterator(directory))
    all[f.path().filename()] =
        std::to_string(f.last_write_time().time_since_epoch().count()) + read_file(f.path());
  all["."] = std::to_string(fs::last_write_time(directory).time_since_epoch().count());
  return all;
}

json::object entries_of(json::value const& check) {
  json::object all;
  for (auto const& e : check.at("entries").as_array())
    all[e.at("kind").as_string()] = e.at("entries");
  return all;
}

TEST(data, check_lists_contents_while_and_after_the_server_runs) {
  cluster c;
  auto const data = c.file("data").string();
  auto& server = c.serve({"--data-dir", data, "--cluster", "train:worker=2"});
  for (auto const* key : {"a/b", "a/c"}) EXPECT_EQ(c.run({"kv", "put", key, "v"}).status, 0);
  auto f = c.run({"data", "check", data, "--output", "json"});
  ASSERT_EQ(f.status, 0) << f.err;
  auto told = json::parse(f.out);
  EXPECT_EQ(
      entries_of(told),
      json::parse(
          R"({"format":1,"cluster":1,"task":0,"key":2,"barrier":0,)"
          R"("job":0,"accepted":0,"closure":0,"per_worker":0,"token":0,"program":0,)"
          R"("program_course":0,"program_attempt":0,"placement":0,"dead_rank":0,"attempt_record":0})")
          .as_object());
  EXPECT_EQ(told.at("process").to_number<int>(), server.pid());
  EXPECT_EQ(told.at("epoch").to_number<int>(), 1);
  EXPECT_GT(told.at("bytes_on_disk").to_number<int>(), 100);
  expect_one_line(c.run({"data", "compact", data}), 2, data + ": another process has it open");
  stop(server);
  f = c.run({"data", "check", data});
  EXPECT_EQ(f.status, 0) << f.err;
  EXPECT_CONTAINS(f.out, data + ": all data can be read\n");
  EXPECT_EQ(f.out.find("is using the directory"), std::string::npos) << f.out;
}

TEST(data, check_works_with_a_low_descriptor_limit) {
  cluster c;
  auto const data = c.file("data").string();
  stop(c.serve({"--data-dir", data}));
  auto& few = c.program(
      {"/bin/bash", "-c", "ulimit -Sn 6 && exec \"$0\" data check \"$1\"", MUSTER_BINARY, data});
  EXPECT_EQ(few.wait(), 0) << few.errors();
  auto& too_few = c.program(
      {"/bin/bash", "-c", "ulimit -n 6 && exec \"$0\" data check \"$1\"", MUSTER_BINARY, data});
  EXPECT_EQ(too_few.wait(), 1);
  EXPECT_TRUE(too_few.says("Too many open files"));
}

TEST(data, dump_prints_one_json_line_per_entry) {
  cluster c;
  auto const data = c.file("data").string();
  stop([&]() -> process& {
    auto& s = c.serve({"--data-dir", data, "--cluster", "train:worker=2"});
    for (auto const* key : {"a/b", "a/c", "a/d"}) c.run({"kv", "put", key, "hello"});
    return s;
  }());
  auto const all = c.run({"data", "dump", data});
  EXPECT_EQ(all.status, 0) << all.err;
  EXPECT_EQ(std::count(all.out.begin(), all.out.end(), '\n'), 5) << all.out;
  auto const one =
      c.run({"data", "dump", data, "--kind", "key", "--cluster", "train", "--limit", "1"});
  auto const line = json::parse(one.out);
  EXPECT_EQ(line.at("kind"), "key");
  EXPECT_EQ(line.at("cluster"), "train");
  EXPECT_EQ(line.at("key"), "a/b");
  EXPECT_EQ(line.at("entry").at("value"), "aGVsbG8=");
  EXPECT_EQ(c.run({"data", "dump", data, "--cluster", "other"}).out, "");
  expect_one_line(c.run({"data", "dump", data, "--kind", "thing"}), 2,
                  "is not one of format, cluster");
  // The reader of a pipe may exit first.
  auto& left = c.program({"/bin/bash", "-c",
                          "{ sleep 0.2; \"$0\" data dump \"$1\"; echo \"left $?\" >&2; } | true",
                          MUSTER_BINARY, data});
  EXPECT_EQ(left.wait(), 0);
  EXPECT_EQ(left.errors(), "left 0\n");
  auto& full = c.program(
      {"/bin/bash", "-c", "exec \"$0\" data dump \"$1\" > /dev/full", MUSTER_BINARY, data});
  EXPECT_EQ(full.wait(), 1);
  EXPECT_TRUE(full.says("muster data: cannot write: No space left on device"));
}

TEST(data, backup_during_writes_contains_all_acknowledged_keys) {
  cluster c;
  auto const data = c.file("data").string(), backup = c.file("backup").string();
  auto& first = c.serve({"--data-dir", data, "--cluster", "train:worker=2"});
  std::atomic<int> acknowledged = 0;
  std::atomic<bool> enough = false;
  std::thread writer([&] {
    for (int n = 0; !enough; ++n) {
      auto const i = std::to_string(n);
      if (c.run({"kv", "put", "k/" + i, "value " + i}).status != 0) break;
      acknowledged = n + 1;
    }
  });
  EXPECT_TRUE(await([&] { return acknowledged >= 10; }));
  int const at_least = acknowledged;
  auto const f = c.run({"data", "backup", data, backup});
  enough = true;
  writer.join();
  EXPECT_EQ(f.status, 0) << f.err;
  EXPECT_CONTAINS(f.out, backup + ": a copy of " + data);
  EXPECT_EQ(f.err, "") << "short work has no progress line";
  EXPECT_EQ(c.run({"kv", "put", "later", "x"}).status, 0);
  stop(first);

  auto const restored = c.file("restored").string();
  auto const r = c.run({"data", "restore", backup, restored});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_CONTAINS(r.out, "now start 'muster serve --data-dir " + restored + "'");
  auto& second = c.serve({"--data-dir", restored, "--cluster", "train:worker=2"});
  EXPECT_TRUE(second.says("epoch=2"));
  for (int n = 0; n < at_least; ++n) {
    auto const i = std::to_string(n);
    EXPECT_EQ(c.run({"kv", "get", "k/" + i}).out, "value " + i);
  }
  EXPECT_EQ(c.run({"kv", "get", "later"}).status, 1);
  stop(second);
  EXPECT_EQ(c.run({"data", "check", backup}).status, 0) << "the backup is still one";
}

TEST(data, read_only_commands_change_no_file) {
  cluster c;
  auto const data = c.file("data").string();
  auto& server = c.serve({"--data-dir", data});
  EXPECT_EQ(c.run({"kv", "put", "k", "v"}).status, 0);
  stop(server);
  auto const before = state_of(data);
  EXPECT_EQ(c.run({"data", "check", data}).status, 0);
  EXPECT_EQ(c.run({"data", "dump", data}).status, 0);
  EXPECT_EQ(c.run({"data", "backup", data, c.file("b").string()}).status, 0);
  EXPECT_EQ(c.run({"data", "restore", data, data}).status, 2);
  EXPECT_EQ(state_of(data), before);
  EXPECT_FALSE(fs::exists(c.file("b.partial")));
  auto const compacted = c.run({"data", "compact", data});
  EXPECT_EQ(compacted.status, 0) << compacted.err;
  EXPECT_CONTAINS(compacted.out, " bytes before, ");
  c.serve({"--data-dir", data});
  EXPECT_EQ(c.run({"kv", "get", "k"}).out, "v");
}

void expect_refused_when_damaged(cluster& c, fs::path const& data, std::string const& kind) {
  auto const broken = c.file("broken" + kind).string(), to = c.file("b").string();
  fs::copy(data, broken);
  std::string name;
  for (auto const& f : fs::directory_iterator(broken))
    if (f.path().filename().string().find(kind) != std::string::npos && f.file_size() > 0)
      name = f.path().filename();
  ASSERT_NE(name, "");
  std::fstream file(fs::path(broken) / name, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(20);
  file.put('!');
  file.close();
  expect_one_line(c.run({"data", "check", broken}), 1, broken + ": its data is damaged");
  for (auto const& verb : std::vector<words>{{"data", "check", broken},
                                             {"data", "compact", broken},
                                             {"data", "backup", broken, to},
                                             {"data", "restore", broken, to}})
    expect_one_line(c.run(verb), 1, name);
  EXPECT_FALSE(fs::exists(to));
  EXPECT_FALSE(fs::exists(to + ".partial"));
}

TEST(data, damage_is_reported_in_one_line) {
  cluster c;
  auto const data = c.file("data");
  auto& server = c.serve({"--data-dir", data.string()});
  for (int i = 0; i < 5; ++i) c.run({"kv", "put", "k" + std::to_string(i), "v"});
  stop(server);
  expect_refused_when_damaged(c, data, ".log");
  expect_refused_when_damaged(c, data, "MANIFEST");
  EXPECT_EQ(c.run({"data", "compact", data.string()}).status, 0);
  expect_refused_when_damaged(c, data, ".sst");
}

TEST(data, directory_of_a_newer_server_or_without_format_is_refused) {
  cluster c;
  auto const data = c.file("data").string();
  {
    auto s = server::journal::rocks_store::open(data);
    ASSERT_TRUE(s.has_value());
    muster::journal::v1::Format f;
    f.set_version(99);
    f.set_written_by("77.0");
    ASSERT_TRUE(
        (*s)->write({{server::journal::change::kind::put, "format", f.SerializeAsString()}}).ok());
  }
  auto const to = c.file("to").string();
  for (auto const& verb : std::vector<words>{{"data", "check", data},
                                             {"data", "dump", data},
                                             {"data", "compact", data},
                                             {"data", "backup", data, to},
                                             {"data", "restore", data, to}})
    expect_one_line(c.run(verb), 2, data + ": was written by a newer server (77.0, format 99");
  EXPECT_FALSE(fs::exists(to));
  auto const nothing = c.file("nothing").string();
  fs::create_directory(nothing);
  for (auto const& verb : std::vector<words>{{"data", "check", nothing},
                                             {"data", "dump", nothing},
                                             {"data", "compact", nothing},
                                             {"data", "backup", nothing, to}})
    expect_one_line(c.run(verb), 2, nothing + ": contains no Muster server data");
  EXPECT_TRUE(fs::is_empty(nothing));
  expect_one_line(c.run({"data", "check"}), 2, "DIR is missing");
  expect_one_line(c.run({"data", "mend", data}), 2, "is not one of check, dump, compact");
}

// Makes a directory that takes a while to copy.
void make_large(std::string const& data) {
  using change = server::journal::change;
  auto s = server::journal::rocks_store::open(data);
  ASSERT_TRUE(s.has_value());
  muster::journal::v1::Format f;
  f.set_version(1);
  std::vector<change> batch = {{change::kind::put, "format", f.SerializeAsString()}};
  for (int i = 0; i < 200'000; ++i)
    batch.push_back({change::kind::put, std::string("k\0c\0", 4) + std::to_string(i), ""});
  ASSERT_TRUE((*s)->write(batch).ok());
}

TEST(data, interrupted_backup_is_not_accepted) {
  cluster c;
  auto const data = c.file("data").string(), to = c.file("b").string();
  make_large(data);
  auto& told_to_stop = c.spawn({"data", "backup", data, to});
  ASSERT_TRUE(await([&] { return fs::exists(to + ".partial"); }));
  told_to_stop.signal(SIGTERM);
  EXPECT_EQ(told_to_stop.wait(), 1);
  EXPECT_TRUE(told_to_stop.says("interrupted"));
  EXPECT_FALSE(fs::exists(to));
  EXPECT_FALSE(fs::exists(to + ".partial"));

  auto& killed = c.spawn({"data", "backup", data, to});
  ASSERT_TRUE(await([&] { return fs::exists(to + ".partial/CURRENT"); }));
  killed.kill_at_once();
  EXPECT_FALSE(fs::exists(to));
  expect_one_line(c.run({"data", "restore", to + ".partial", c.file("x").string()}), 2,
                  "is an interrupted copy");
  expect_one_line(c.run({"data", "backup", data, to}), 2, to + ".partial: exists");
}

}  // namespace
}  // namespace muster::e2e
