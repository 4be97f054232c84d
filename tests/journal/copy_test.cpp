#include "server/journal/copy.hpp"

#include <atomic>
#include <random>
#include <thread>

#include "server/journal/entries.hpp"
#include "tests/journal/directory.hpp"
#include "tests/support/temporary_directory.hpp"

namespace muster::server::journal {
namespace copy_cases {

namespace fs = std::filesystem;

std::map<std::string, std::string> entries_of(fs::path const& at) {
  std::map<std::string, std::string> all;
  auto const view = rocks_view::open(at);
  EXPECT_TRUE(view.has_value()) << view.error().message;
  if (!view) return all;
  EXPECT_TRUE((*view)
                  ->read("", [&](std::string_view key,
                                 std::string_view value) { return all.emplace(key, value).second; })
                  .ok());
  return all;
}

void write(fs::path const& at, std::vector<change> const& batch) {
  ASSERT_TRUE(opened(at)->write(batch).ok());
}

void expect_refused(muster::result<copied> const& r, code c, std::string const& part) {
  ASSERT_FALSE(r.has_value());
  EXPECT_EQ(r.error().code, c) << r.error().message;
  EXPECT_NE(r.error().message.find(part), std::string::npos) << r.error().message;
}

TEST(copy, contains_every_entry_and_leaves_the_original_unchanged) {
  test::temporary_directory t;
  auto batch = some_entries(100);
  batch.push_back({change::kind::put, std::string("z\0new", 5), "of a newer kind"});
  batch.push_back({change::kind::put, std::string("k\0train\0big", 11),
                   "\x0a\x80\x80\x80\x05" + std::string(10 << 20, 'x')});
  write(t / "d", batch);
  auto const before = state_of(t / "d");
  auto const done = copy_store(t / "d", t / "b/c/");
  ASSERT_TRUE(done.has_value()) << done.error().message;
  EXPECT_EQ(done->entries, 105u);
  EXPECT_GT(done->bytes, std::uint64_t{10} << 20);
  EXPECT_EQ(entries_of(t / "b/c"), entries_of(t / "d"));
  EXPECT_EQ(state_of(t / "d"), before);
  EXPECT_FALSE(fs::exists(t / "b/c.partial"));
  ASSERT_TRUE(opened(t / "b/c")->write(some_entries()).ok()) << "a server could continue there";
}

TEST(copy, keeps_the_permissions_of_the_original) {
  test::temporary_directory t;
  write(t / "d", some_entries());
  fs::permissions(t / "d", fs::perms::owner_all);
  fs::create_directory(t / "b");
  ASSERT_TRUE(copy_store(t / "d", t / "b").has_value());
  EXPECT_EQ(fs::status(t / "b").permissions(), fs::perms::owner_all);
}

// A consistent copy contains a prefix of the keys, with at least those that existed when it began.
TEST(copy, of_a_store_in_use_is_consistent) {
  test::temporary_directory t;
  auto s = opened(t / "d");
  ASSERT_TRUE(s->write(some_entries(0)).ok());
  std::atomic<bool> stop = false;
  std::atomic<int> written = 0;
  auto const name = [](int n) {
    char text[16];
    std::snprintf(text, sizeof text, "%08d", n);
    return std::string("k\0train\0", 8) + text;
  };
  muster::journal::v1::Key value;
  value.set_value(std::string(20'000, 'v'));
  std::thread writer([&] {
    for (int n = 0; !stop; ++n) {
      EXPECT_TRUE(s->write({{change::kind::put, name(n), value.SerializeAsString()}}).ok());
      written = n + 1;
      if (n % 50 != 49) continue;  // creates and deletes logs and tables
      EXPECT_TRUE(s->compact().ok());
    }
  });
  for (int i = 0; i < 8; ++i) {
    auto const to = t / ("b" + std::to_string(i));
    int const at_least = written;
    auto const done = copy_store(t / "d", to);
    ASSERT_TRUE(done.has_value()) << done.error().message;
    auto const keys = static_cast<int>(done->entries) - 3;
    EXPECT_GE(keys, at_least);
    auto const all = entries_of(to);
    for (int n = 0; n < keys; ++n) ASSERT_TRUE(all.contains(name(n))) << n << " of " << keys;
  }
  stop = true;
  writer.join();
  EXPECT_GT(written, 50) << "nothing was compacted in between";
}

TEST(copy, needs_a_target_that_is_free) {
  test::temporary_directory t;
  write(t / "d", some_entries());
  auto const before = state_of(t / "d");
  expect_refused(copy_store(t / "d", t / "d"), code::failed_precondition,
                 "is not an empty directory");
  expect_refused(copy_store(t / "d", t / "d/b"), code::failed_precondition, "is inside ");
  EXPECT_EQ(state_of(t / "d"), before);
  std::ofstream(t / "file") << "x";
  expect_refused(copy_store(t / "d", t / "file"), code::failed_precondition,
                 "is not an empty directory");
  expect_refused(copy_store(t / "d", t / "file/b"), code::internal, "cannot be created");
  fs::create_directory(t / "b.partial");
  expect_refused(copy_store(t / "d", t / "b"), code::failed_precondition, "b.partial: exists");
  EXPECT_TRUE(fs::exists(t / "b.partial"));
  expect_refused(copy_store(t / "none", t / "c"), code::failed_precondition,
                 "none: does not exist");
  EXPECT_FALSE(fs::exists(t / "c"));
}

TEST(copy, aborted_copy_leaves_nothing) {
  test::temporary_directory t;
  write(t / "d", some_entries(10'000));
  for (std::string const when : {"checking", "copying", "checking the copy"}) {
    bool partial_seen = false;
    auto const r = copy_store(t / "d", t / "b", [&](std::string_view doing, auto, auto) {
      partial_seen = partial_seen || fs::exists(t / "b.partial");
      return doing != when;
    });
    expect_refused(r, code::cancelled, "interrupted");
    EXPECT_EQ(partial_seen, when != "checking");
    EXPECT_FALSE(fs::exists(t / "b")) << when;
    EXPECT_FALSE(fs::exists(t / "b.partial")) << when;
  }
}

// A killed copy has no format entry.
TEST(copy, unfinished_copy_is_rejected) {
  test::temporary_directory t;
  write(t / "d", some_entries(10'000));
  bool seen = false;
  auto const r = copy_store(t / "d", t / "b", [&](std::string_view doing, auto, auto) {
    if (doing != "copying") return true;
    fs::copy(t / "b.partial", t / "killed", fs::copy_options::recursive);
    seen = true;
    return false;
  });
  ASSERT_TRUE(seen);
  auto const copied = entries_of(t / "killed");
  EXPECT_GT(copied.size(), 1'000u);
  EXPECT_FALSE(copied.contains("format"));
  expect_refused(copy_store(t / "killed", t / "c"), code::failed_precondition, "interrupted");
}

TEST(copy, of_damaged_or_newer_data_is_refused) {
  test::temporary_directory t;
  auto batch = some_entries();
  batch.push_back({change::kind::put, std::string("k\0train\0x", 9), "\xff"});
  write(t / "d", batch);
  expect_refused(copy_store(t / "d", t / "b"), code::internal, "damaged");
  write(t / "n", {{change::kind::put, "format", format_entry(format_known + 1)}});
  expect_refused(copy_store(t / "n", t / "b"), code::failed_precondition, "newer server");
  EXPECT_FALSE(fs::exists(t / "b"));
  EXPECT_FALSE(fs::exists(t / "b.partial"));
}

TEST(compact, frees_the_space_of_overwritten_entries) {
  test::temporary_directory t;
  std::mt19937 random(1);
  {
    auto s = opened(t / "d");
    ASSERT_TRUE(s->write(some_entries()).ok());
    for (int round = 0; round < 10; ++round) {
      muster::journal::v1::Key value;
      std::string bytes(1 << 20, 0);
      for (auto& b : bytes) b = static_cast<char>(random());
      value.set_value(bytes);
      ASSERT_TRUE(s->write({{change::kind::put, std::string("k\0train\0big", 11),
                             value.SerializeAsString()}})
                      .ok());
    }
  }
  auto const before = entries_of(t / "d");
  auto const done = compact_store(t / "d");
  ASSERT_TRUE(done.has_value()) << done.error().message;
  EXPECT_GT(done->bytes_before, 10u << 20);
  EXPECT_LT(done->bytes_after, 2u << 20);
  EXPECT_EQ(entries_of(t / "d"), before);
}

TEST(compact, refuses_a_directory_in_use_or_without_server_data) {
  test::temporary_directory t;
  auto s = opened(t / "d");
  ASSERT_TRUE(s->write(some_entries()).ok());
  auto const refused = compact_store(t / "d");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message, (t / "d").string() + ": another process has it open");
  auto const none = compact_store(t / "none");
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, code::failed_precondition);
  EXPECT_FALSE(fs::exists(t / "none"));
}

}  // namespace copy_cases
}  // namespace muster::server::journal
