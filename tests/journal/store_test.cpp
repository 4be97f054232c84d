// Both stores are one thing; and what a directory is refused for.
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "server/journal/memory_store.hpp"
#include "server/journal/rocks_store.hpp"
#include "tests/journal/temporary.hpp"

namespace muster::server::journal {
namespace {

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
  // In order: what is put behind an erase stays.
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

TEST(store, on_the_disk_is_the_same_and_outlives_its_object) {
  temporary at;
  auto s = opened(at / "data");
  expect_a_map(*s);
  s.reset();
  EXPECT_EQ(all_of(*opened(at / "data")), "a2=5 b=7 ");
}

TEST(store, a_directory_has_one_owner) {
  temporary at;
  auto const first = opened(at / "data");
  auto const second = rocks_store::open(at / "data");
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, code::failed_precondition);
  EXPECT_EQ(second.error().message, (at / "data").string() + ": another process has it open");
}

TEST(store, a_directory_of_other_files_is_left_alone) {
  temporary at;
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
  temporary at;
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

TEST(store, a_torn_last_write_is_as_if_it_had_not_begun) {
  temporary at;
  {
    auto s = opened(at / "data");
    EXPECT_TRUE(s->write({{kind::put, "a", "1"}}).ok());
    EXPECT_TRUE(s->write({{kind::put, "b", std::string(1000, 'x')}}).ok());
  }
  auto const log = newest_log(at / "data");
  fs::resize_file(log, fs::file_size(log) - 10);
  EXPECT_EQ(all_of(*opened(at / "data")), "a=1 ");
}

TEST(store, damage_is_refused_in_one_line) {
  temporary at;
  { EXPECT_TRUE(opened(at / "data")->write({{kind::put, "a", "1"}}).ok()); }
  std::ofstream(at / "data/CURRENT") << "nonsense";
  auto const refused = rocks_store::open(at / "data");
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("damaged"), std::string::npos) << refused.error().message;
  EXPECT_EQ(refused.error().message.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace muster::server::journal
