#include "server/history/store/history_store.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <future>
#include <thread>

#include "server/history/store/history_reader.hpp"
#include "server/history/store/records.hpp"
#include "tests/support/cannot_run.hpp"
#include "tests/support/small_disk.hpp"
#include "tests/support/temporary_directory.hpp"

namespace muster::server {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr core::time_point noon = core::time_point(std::chrono::hours(480'000));

struct history_store_test : testing::Test {
  muster::test::temporary_directory directory;
  fs::path const where = directory / "history";

  std::unique_ptr<history_store> open(
      history_limits limits = {}, history_store::access how = history_store::access::write) const {
    auto opened = history_store::open(where, limits, how);
    EXPECT_TRUE(opened) << opened.error().message;
    return opened ? std::move(*opened) : nullptr;
  }
  static std::vector<std::string> all(history_store const& a, history_kind kind,
                                      core::time_point since = {}, std::size_t most = 1'000'000,
                                      std::size_t bytes = 1'000'000) {
    std::vector<std::string> found;
    a.read(kind, since, {most, bytes},
           [&](history_place, std::string_view one) { found.emplace_back(one); });
    return found;
  }
  static void keep(history_store& a, history_kind kind, std::initializer_list<char const*> what) {
    auto at = noon;
    for (auto const* one : what) a.keep({kind, at += 1s, one});
  }
  void write(history_kind kind, std::initializer_list<char const*> what) const {
    auto const a = open();
    a->start();
    keep(*a, kind, what);
    a->stop();
  }
};

TEST_F(history_store_test, next_process_reads_each_kind_oldest_first) {
  write(history_kind::events, {"a", "b", "c"});
  write(history_kind::spans, {"x"});
  auto const a = open();
  EXPECT_EQ(all(*a, history_kind::events), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(all(*a, history_kind::spans), (std::vector<std::string>{"x"}));
  EXPECT_TRUE(all(*a, history_kind::points).empty());
  EXPECT_EQ(a->newest(), noon + 3s);
  EXPECT_EQ(a->facts().since, noon + 1s);
}

TEST_F(history_store_test, newest_records_are_read_within_the_limits) {
  write(history_kind::points, {"a", "b", "c"});
  auto const a = open();
  EXPECT_EQ(all(*a, history_kind::points, {}, 2), (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(all(*a, history_kind::points, {}, 9, 2), (std::vector<std::string>{"b", "c"}))
      << "bytes";
  EXPECT_EQ(all(*a, history_kind::points, noon + 3s), (std::vector<std::string>{"c"}));
}

TEST_F(history_store_test, counts_a_record_that_cannot_be_read_once) {
  write(history_kind::events, {"nonsense", "more nonsense"});
  auto const a = open();
  auto const look = [&a] {
    std::size_t rows = 0;
    a->scan(history_kind::events, {}, [&](history_place at, std::string_view bytes) {
      rows += a->decoded(history_kind::events, at, bytes, events_from).size();
      return true;
    });
    return rows;
  };
  EXPECT_EQ(look(), 0u);
  EXPECT_EQ(a->facts().unreadable, 2u);
  EXPECT_EQ(a->facts().dropped, 2u) << "they are missing";
  EXPECT_EQ(look(), 0u);
  EXPECT_EQ(a->facts().unreadable, 2u);
}

TEST_F(history_store_test, count_of_unreadable_records_is_limited) {
  auto const a = open();
  a->start();
  for (int i = 0; i < 10'001; ++i) a->keep({history_kind::events, noon, "nonsense"});
  a->stop();
  std::size_t records = 0;
  a->scan(history_kind::events, {}, [&](history_place at, std::string_view bytes) {
    (void)a->decoded(history_kind::events, at, bytes, events_from);
    return ++records > 0;
  });
  EXPECT_EQ(records, 10'001u);
  EXPECT_EQ(a->facts().unreadable, 10'000u);
}

// RocksDB aborts the process if it continues with a log that it could not write.
TEST_F(history_store_test, resumes_after_its_disk_was_full) {
  muster::test::small_disk disk(4);
  if (!disk.problem().empty()) return muster::test::cannot_run(disk.problem());
  history_limits limits;
  limits.reserve_bytes = 0;  // otherwise it would stop before the disk is full
  auto opened = history_store::open(disk.path() / "history", limits, history_store::access::write);
  ASSERT_TRUE(opened) << opened.error().message;
  auto const a = std::move(*opened);
  a->start();
  auto const has = [&a](std::string_view what) {
    bool found = false;
    a->scan(history_kind::events, {},
            [&](history_place, std::string_view one) { return !(found = one == what); });
    return found;
  };
  auto const written = [&](std::string const& what) {
    a->keep({history_kind::events, noon, what});
    for (int i = 0; i < 100 && !has(what); ++i) std::this_thread::sleep_for(10ms);
    return has(what);
  };
  EXPECT_TRUE(written("before"));
  disk.fill();
  for (int i = 0; i < 10; ++i) a->keep({history_kind::events, noon, std::string(10'000, 'x')});
  EXPECT_FALSE(written("while it is full"));
  std::this_thread::sleep_for(6s);  // RocksDB tries to recover every five seconds
  EXPECT_FALSE(written("still"));
  EXPECT_GT(a->facts().dropped, 0u);
  disk.free();
  EXPECT_TRUE(written("after"));
  EXPECT_TRUE(has("before"));
}

TEST_F(history_store_test, records_of_the_same_moment_are_all_kept) {
  auto const a = open();
  a->start();
  for (int i = 0; i < 100; ++i) a->keep({history_kind::events, noon, std::to_string(i)});
  a->stop();
  EXPECT_EQ(all(*open({}, history_store::access::read), history_kind::events).size(), 100u);
}

// Not closed, as after a kill.
TEST_F(history_store_test, records_written_by_a_killed_process_are_kept) {
  auto const a = open();
  a->start();
  keep(*a, history_kind::events, {"a", "b"});
  a->stop();  // written but not closed
  auto const copy = directory / "copy";
  fs::copy(where, copy, fs::copy_options::recursive);
  auto const b = history_store::open(copy, {}, history_store::access::write);
  ASSERT_TRUE(b) << b.error().message;
  EXPECT_EQ(all(**b, history_kind::events).size(), 2u);
}

TEST_F(history_store_test, torn_end_loses_only_that_record) {
  write(history_kind::events, {"a"});
  write(history_kind::events, {"b"});
  for (auto const& f : fs::directory_iterator(where))
    if (f.path().extension() == ".log" && f.file_size() > 4) fs::resize_file(f, f.file_size() - 3);
  EXPECT_EQ(all(*open(), history_kind::events), (std::vector<std::string>{"a"}));
}

TEST_F(history_store_test, bytes_beyond_the_limit_remove_the_oldest_records) {
  history_limits limits;
  limits.bytes_max = 4 << 20;
  limits.waiting_bytes_max = 64 << 20;
  {
    auto const a = open(limits);
    a->start();
    auto at = noon;
    std::string text(1'000, ' ');
    for (int i = 0; i < 16'000; ++i) {
      for (auto& c : text) c = static_cast<char>(std::rand());  // random data does not compress
      a->keep({history_kind::events, at += 1ms, text});
    }
    a->stop();
  }
  auto const a = open(limits);
  auto const left = all(*a, history_kind::events).size();
  EXPECT_GT(left, 100u);
  EXPECT_LT(left, 3'000u) << "of 16 MB, an eighth of 4 MB, and partly full files";
  EXPECT_EQ(a->newest(), noon + 16s);
}

TEST_F(history_store_test, records_beyond_the_queue_limit_are_dropped_and_counted) {
  history_limits limits;
  limits.waiting_bytes_max = 10;
  auto const a = open(limits);
  a->start();
  a->keep({history_kind::events, noon, std::string(11, 'x')});
  a->keep({history_kind::events, noon, "fits"});
  a->stop();
  EXPECT_EQ(a->facts().dropped, 1u);
  EXPECT_EQ(all(*a, history_kind::events), (std::vector<std::string>{"fits"}));
}

TEST_F(history_store_test, disk_without_the_reserve_is_not_written) {
  history_limits limits;
  limits.reserve_bytes = ~std::uint64_t{0};
  auto const a = open(limits);
  a->start();
  a->keep({history_kind::events, noon, "a"});
  a->stop();
  EXPECT_EQ(a->facts().dropped, 1u);
  EXPECT_TRUE(all(*a, history_kind::events).empty());
}

TEST_F(history_store_test, read_access_requires_a_store_and_changes_nothing) {
  EXPECT_EQ(history_store::open(where, {}, history_store::access::read).error().code,
            code::not_found);
  EXPECT_FALSE(fs::exists(where));
  write(history_kind::events, {"a"});
  auto const names = [this] {
    std::vector<std::string> found;
    for (auto const& f : fs::directory_iterator(where)) found.push_back(f.path().filename());
    std::sort(found.begin(), found.end());
    return found;
  };
  auto const before = names();
  EXPECT_EQ(all(*open({}, history_store::access::read), history_kind::events).size(), 1u);
  EXPECT_EQ(names(), before);
}

TEST_F(history_store_test, store_in_use_or_other_directory_is_refused) {
  auto const a = open();
  auto const second = history_store::open(where, {}, history_store::access::write);
  ASSERT_FALSE(second);
  EXPECT_TRUE(second.error().message.starts_with(where.string() + ": ")) << second.error().message;
  fs::create_directories(directory / "other");
  std::ofstream(directory / "other" / "CURRENT") << "no\n";
  EXPECT_FALSE(history_store::open(directory / "other", {}, history_store::access::write));
}

TEST_F(history_store_test, scan_resumes_at_a_position_and_stops_on_request) {
  write(history_kind::events, {"a", "b", "c", "d"});
  auto const a = open();
  std::vector<std::string> found;
  history_place last;
  auto const take = [&](history_place at, std::string_view bytes) {
    found.emplace_back(bytes);
    last = at;
    return found.size() % 2 == 1;
  };
  a->scan(history_kind::events, {noon + 2s, 0}, take);
  EXPECT_EQ(found, (std::vector<std::string>{"b", "c"}));
  a->scan(history_kind::events, last, take);
  EXPECT_EQ(found.back(), "d");
  a->scan(history_kind::runs, {}, take);
  EXPECT_EQ(found.size(), 4u) << "there are none of another kind";
}

// The store is open for writing at the same time.
TEST_F(history_store_test, reader_answers_while_the_writer_writes) {
  auto const a = open();
  a->start();
  history_reader reader;
  EXPECT_EQ(reader.ask([](auto const&) {}).code, code::failed_precondition);
  reader.start(*a);
  keep(*a, history_kind::events, {"a", "b"});
  a->stop();
  std::promise<std::size_t> counted;
  auto const asked = reader.ask([&](history_store const& s) {
    std::size_t n = 0;
    s.scan(history_kind::events, {}, [&](auto, auto) { return ++n > 0; });
    counted.set_value(n);
  });
  EXPECT_TRUE(asked.ok()) << asked.message;
  EXPECT_EQ(counted.get_future().get(), 2u);
  reader.stop();
  EXPECT_EQ(reader.ask([](auto const&) {}).code, code::unavailable);
}

TEST_F(history_store_test, queued_queries_are_limited) {
  auto const a = open();
  history_reader reader;
  reader.start(*a);
  std::promise<void> go_on;
  auto const busy = go_on.get_future().share();
  for (std::size_t i = 0; i < history_reader::questions_max; ++i)
    EXPECT_TRUE(reader.ask([busy](auto const&) { busy.wait(); }).ok());
  EXPECT_EQ(reader.ask([](auto const&) {}).code, code::resource_exhausted);
  go_on.set_value();
  reader.stop();
}

}  // namespace
}  // namespace muster::server
