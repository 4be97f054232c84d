#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <thread>

#include "base/no_room.hpp"
#include "server/journal/rocks_store.hpp"
#include "tests/journal/memory_store.hpp"
#include "tests/support/cannot_run.hpp"
#include "tests/support/small_disk.hpp"
#include "tests/support/temporary_directory.hpp"

namespace muster::server::journal {
namespace store_cases {

namespace fs = std::filesystem;
using kind = change::kind;

std::string all_of(store const& s, std::string_view prefix = {}) {
  std::string text;
  EXPECT_TRUE(s.read(prefix, [&](std::string_view key, std::string_view value) {
                 text += std::string(key) + "=" + std::string(value) + " ";
                 return true;
               }).ok());
  return text;
}

std::unique_ptr<rocks_store> opened(fs::path const& at) {
  auto s = rocks_store::open(at);
  EXPECT_TRUE(s.has_value()) << s.error().message;
  return std::move(*s);
}

void expect_a_map(store& s) {
  EXPECT_TRUE(s.write({{kind::put, "b", "2"}, {kind::put, "a", "1"}, {kind::put, "a1", "3"}}).ok());
  EXPECT_EQ(all_of(s), "a=1 a1=3 b=2 ");
  EXPECT_EQ(all_of(s, "a"), "a=1 a1=3 ");
  EXPECT_TRUE(s.write({{kind::erase, "b", ""}, {kind::put, "a", "4"}}).ok());
  EXPECT_EQ(all_of(s), "a=4 a1=3 ");
  // A put after an erase remains.
  EXPECT_TRUE(s.write({{kind::erase_below, "a", ""}, {kind::put, "a2", "5"}}).ok());
  EXPECT_EQ(all_of(s), "a2=5 ");
  auto const last = std::string("\xff\xff", 2);
  EXPECT_TRUE(s.write({{kind::put, "a\xff", "6"}, {kind::put, "b", "7"}}).ok());
  EXPECT_TRUE(s.write({{kind::erase_below, "a\xff", ""}}).ok());
  EXPECT_EQ(all_of(s), "a2=5 b=7 ");
  std::size_t seen = 0;
  EXPECT_TRUE(s.read("", [&](auto, auto) { return ++seen, false; }).ok());
  EXPECT_EQ(seen, 1u);
}

TEST(store, in_memory_is_an_ordered_map) {
  memory_store s;
  expect_a_map(s);
}

TEST(store, on_disk_is_an_ordered_map_and_persistent) {
  test::temporary_directory at;
  auto s = opened(at / "data");
  expect_a_map(*s);
  s.reset();
  EXPECT_EQ(all_of(*opened(at / "data")), "a2=5 b=7 ");
}

// RocksDB shares hints between keys with the same prefix.
TEST(store, erasing_keys_with_a_long_prefix_leaves_the_others) {
  using namespace std::string_literals;
  test::temporary_directory at;
  auto s = opened(at / "data");
  std::string expected;
  for (auto const& below : {"e\0"s + "0123456789abcdef\0"s, "k\0a cluster with a long name\0"s})
    for (int i = 0; i < 200; ++i) {
      auto const key = below + std::to_string(1'000 + i);
      ASSERT_TRUE(s->write({{kind::put, key, "1"}}).ok());
      if (i % 10 == 5) {
        ASSERT_TRUE(s->write({{kind::erase_below, below, ""}}).ok());
      }
    }
  for (auto const& below : {"e\0"s + "0123456789abcdef\0"s, "k\0a cluster with a long name\0"s})
    for (int i = 196; i < 200; ++i) expected += below + std::to_string(1'000 + i) + "=1 ";
  EXPECT_EQ(all_of(*s), expected);
}

TEST(store, a_directory_has_one_owner) {
  test::temporary_directory at;
  auto const first = opened(at / "data");
  auto const second = rocks_store::open(at / "data");
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, code::failed_precondition);
  EXPECT_EQ(second.error().message, (at / "data").string() + ": another process has it open");
}

TEST(store, directory_that_cannot_be_opened_is_not_reported_as_in_use) {
  test::temporary_directory at;
  auto const data = at / "blocks/data";
  opened(data).reset();
  for (auto const& f : fs::directory_iterator(data))
    if (f.path().filename().string().starts_with("MANIFEST-")) fs::remove(f.path());
  auto const refused = rocks_store::open(data);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message.find("another process"), std::string::npos)
      << refused.error().message;
}

TEST(store, directory_with_other_files_is_refused) {
  test::temporary_directory at;
  fs::create_directory(at / "data");
  std::ofstream(at / "data/thesis.tex") << "precious";
  auto const refused = rocks_store::open(at / "data");
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("other files"), std::string::npos);
  std::set<std::string> names;
  for (auto const& f : fs::directory_iterator(at / "data")) names.insert(f.path().filename());
  EXPECT_EQ(names, std::set<std::string>{"thesis.tex"});
}

TEST(store, a_directory_that_cannot_be_made_is_named) {
  test::temporary_directory at;
  std::ofstream(at / "file") << "";
  auto const refused = rocks_store::open(at / "file/data");
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("file/data"), std::string::npos);
}

fs::path newest_log(fs::path const& in) {
  fs::path found;
  for (auto const& f : fs::directory_iterator(in))
    if (f.path().extension() == ".log" && f.path() > found) found = f.path();
  return found;
}

TEST(store, torn_last_write_is_ignored) {
  test::temporary_directory at;
  {
    auto s = opened(at / "data");
    EXPECT_TRUE(s->write({{kind::put, "a", "1"}}).ok());
    EXPECT_TRUE(s->write({{kind::put, "b", std::string(1000, 'x')}}).ok());
  }
  auto const log = newest_log(at / "data");
  fs::resize_file(log, fs::file_size(log) - 10);
  EXPECT_EQ(all_of(*opened(at / "data")), "a=1 ");
}

TEST(store, damage_is_reported_in_one_line) {
  test::temporary_directory at;
  { EXPECT_TRUE(opened(at / "data")->write({{kind::put, "a", "1"}}).ok()); }
  std::ofstream(at / "data/CURRENT") << "nonsense";
  auto const refused = rocks_store::open(at / "data");
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("damaged"), std::string::npos) << refused.error().message;
  EXPECT_EQ(refused.error().message.find('\n'), std::string::npos);
}

TEST(store, on_a_full_disk_resumes_when_space_is_free) {
  test::small_disk disk(12);
  if (!disk.problem().empty()) return test::cannot_run(disk.problem());
  auto const at = disk.path() / "data";
  auto s = opened(at);
  std::string const value(std::size_t{256} << 10, 'x');
  int n = 0;
  auto const write = [&] { return s->write({{kind::put, "k" + std::to_string(1000 + n), value}}); };
  muster::status last;
  while ((last = write()).ok() && n < 1000) ++n;
  ASSERT_TRUE(is_no_room(last)) << last.message;
  EXPECT_NE(last.message.find("no space left in " + at.string() + ": "), std::string::npos);
  EXPECT_NE(last.message.find(" MiB are free"), std::string::npos) << last.message;
  EXPECT_EQ(write().code, code::resource_exhausted) << "still";
  EXPECT_GT(n, 10);
  ASSERT_TRUE(disk.resize(64));
  // RocksDB also tries to recover every five seconds.
  for (int i = 0; i < 200 && !(last = write()).ok(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_TRUE(last.ok()) << last.message;
  ++n;
  last = write();
  EXPECT_TRUE(last.ok()) << last.message;
  ++n;
  auto const expect_all = [&] {
    int seen = 0;
    EXPECT_TRUE(s->read("k", [&](std::string_view key, std::string_view v) {
                   EXPECT_EQ(key, "k" + std::to_string(1000 + seen++));
                   return v == value;
                 }).ok());
    EXPECT_EQ(seen, n);
  };
  expect_all();
  s.reset();
  s = opened(at);
  expect_all();
}

// RocksDB aborts the process if it continues with a file that it could not write.
TEST(store, on_a_disk_without_a_free_byte_refuses_until_space_is_free) {
  test::small_disk disk(12);
  if (!disk.problem().empty()) return test::cannot_run(disk.problem());
  auto const at = disk.path() / "data";
  auto s = opened(at);
  auto const write = [&](std::string const& key) {
    return s->write({{kind::put, key, std::string(std::size_t{64} << 10, 'x')}});
  };
  for (auto const* const key : {"a", "b", "c"}) ASSERT_TRUE(write(key).ok());
  disk.fill();
  for (int i = 0; i < 7; ++i) {  // RocksDB tries to recover every five seconds
    EXPECT_TRUE(is_no_room(write("d")));
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  std::string keys;
  auto const read = [&] {
    keys.clear();
    return s->read({}, [&](std::string_view key, auto) { return keys += key, true; }).ok();
  };
  EXPECT_TRUE(read());
  EXPECT_EQ(keys, "abc");
  disk.free();
  auto const written = write("d");
  EXPECT_TRUE(written.ok()) << written.message;
  s.reset();
  s = opened(at);
  EXPECT_TRUE(read());
  EXPECT_EQ(keys, "abcd");
}

TEST(store, on_a_full_disk_can_be_killed_and_reopened) {
  test::small_disk disk(12);
  if (!disk.problem().empty()) return test::cannot_run(disk.problem());
  auto const at = disk.path() / "data";
  test::temporary_directory elsewhere;
  auto const copy = elsewhere / "copy";
  auto s = opened(at);
  std::string const value(std::size_t{256} << 10, 'x');
  int n = 0;
  while (s->write({{kind::put, "k" + std::to_string(1000 + n), value}}).ok() && n < 1000) ++n;
  fs::copy(at, copy, fs::copy_options::recursive);  // like the files after a kill
  auto const killed = opened(copy);
  int seen = 0;
  EXPECT_TRUE(killed->read("k", [&](auto, auto) { return ++seen, true; }).ok());
  EXPECT_EQ(seen, n);
}

}  // namespace store_cases
}  // namespace muster::server::journal
