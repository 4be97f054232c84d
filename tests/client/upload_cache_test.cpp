#include "client/programs/upload_cache.hpp"

#include <gtest/gtest.h>
#include <sys/file.h>

#include <atomic>
#include <future>

#include "base/archive/pack.hpp"
#include "tests/archive/trees.hpp"

namespace muster::test {
namespace {

using namespace std::chrono_literals;

struct upload_caches : testing::Test {
  upload_caches() {
    small.write("file", "small");
    large.write("file", std::string(5'000, 'l'));
  }
  upload_cache make() { return upload_cache({at / "uploads", bytes_max, age, limits}); }
  void provide(upload_cache& c, std::string const& hash, std::vector<fs::path> const& to) {
    c.provide(
        hash, to, {},
        [this](std::string const& asked, fs::path const& file) {
          ++fetched;
          if (refuses) throw std::runtime_error("the server is away");
          auto const& root = asked == a ? small.root : large.root;
          std::ofstream(file) << (archive.empty() ? pack(root).bytes : archive);
        },
        [this] { return given_up.load(); });
  }
  std::set<std::string> kept() const {
    std::set<std::string> all;
    for (auto const& e : fs::directory_iterator(at / "uploads"))
      if (e.path().filename() != "lock") all.insert(e.path().filename().string());
    return all;
  }
  void make_old(std::string const& hash, std::chrono::hours by) const {
    fs::last_write_time(at / "uploads" / hash, fs::file_time_type::clock::now() - by);
  }

  temporary_directory at;
  tree small, large;
  std::string const a = std::string(64, 'a'), b = std::string(64, 'b'), c = std::string(64, 'c');
  std::uint64_t bytes_max = 1'000'000;
  std::chrono::seconds age = 24h;
  tree_limits limits;
  int fetched = 0;
  bool refuses = false;
  std::atomic<bool> given_up = false;
  std::string archive;
};

TEST_F(upload_caches, upload_is_fetched_once_and_copied_for_each_rank) {
  auto cache = make();
  provide(cache, a, {at / "work/0", at / "work/1"});
  provide(cache, a, {at / "work/2"});
  EXPECT_EQ(fetched, 1);
  std::ofstream(at / "work/0/file") << "changed by a rank";
  provide(cache, a, {at / "work/3"});
  for (auto const* rank : {"1", "2", "3"})
    EXPECT_EQ(read_file(at / "work" / rank / "file"), "small") << rank;
  EXPECT_EQ(read_file(at / "work/0/file"), "changed by a rank");
  EXPECT_EQ(kept(), names{a});
  EXPECT_EQ(mode(at / "uploads"), 0700u) << "also for ranks of another user";
}

TEST_F(upload_caches, outlive_their_worker) {
  auto first = make();
  provide(first, a, {at / "0"});
  auto second = make();
  provide(second, a, {at / "1"});
  EXPECT_EQ(fetched, 1);
}

TEST_F(upload_caches, least_recently_used_entries_are_evicted_beyond_the_limit) {
  bytes_max = 10'100;
  auto cache = make();
  provide(cache, b, {});
  provide(cache, c, {});
  make_old(b, 2h);
  make_old(c, 1h);
  provide(cache, a, {});
  EXPECT_EQ(kept(), (names{a, b, c}));
  provide(cache, b, {});
  bytes_max = 6'000;
  auto tighter = make();
  tighter.clean();
  EXPECT_EQ(kept(), (names{a, b})) << "used last";
  make_old(a, 1h);
  bytes_max = 0;
  auto none = make();
  provide(none, b, {at / "0"});
  EXPECT_EQ(kept(), names{b}) << "what is used just now stays";
}

TEST_F(upload_caches, old_entries_are_evicted) {
  auto cache = make();
  provide(cache, a, {});
  provide(cache, b, {});
  make_old(a, 25h);
  cache.clean();
  EXPECT_EQ(kept(), names{b});
}

TEST_F(upload_caches, failed_fetches_leave_nothing_behind) {
  auto cache = make();
  refuses = true;
  EXPECT_EQ(error_of([&] { provide(cache, a, {at / "0"}); }), "the server is away");
  EXPECT_EQ(kept(), names{});
  refuses = false;
  archive = "no archive";
  EXPECT_NE(error_of([&] { provide(cache, a, {at / "0"}); }), "");
  EXPECT_EQ(kept(), names{});
  archive.clear();
  limits.bytes_max = 3;
  auto tight = make();
  EXPECT_EQ(error_of([&] { provide(tight, a, {at / "0"}); }),
            "the archive unpacks to more than 3 bytes");
  EXPECT_EQ(kept(), names{});
  EXPECT_FALSE(fs::exists(at / "0"));
  provide(cache, a, {at / "0"});
  EXPECT_EQ(read_file(at / "0/file"), "small");
}

TEST_F(upload_caches, remove_leftovers_of_a_killed_worker) {
  fs::create_directories(at / "uploads/new-abcdef/tree");
  auto cache = make();
  provide(cache, a, {});
  EXPECT_EQ(kept(), names{a});
}

TEST_F(upload_caches, are_locked_by_one_worker_at_a_time) {
  auto cache = make();
  provide(cache, a, {});
  file_descriptor held(::open((at / "uploads/lock").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::flock(held.get(), LOCK_EX), 0);
  make_old(a, 25h);
  cache.clean();
  EXPECT_EQ(kept(), names{a}) << "somebody uses it";
  auto other = std::async(std::launch::async, [&] { provide(cache, a, {at / "0"}); });
  given_up = true;
  EXPECT_NE(error_of([&] { other.get(); }), "");
  given_up = false;
  auto third = std::async(std::launch::async, [&] { provide(cache, a, {at / "0"}); });
  held.reset();
  third.get();
  EXPECT_EQ(read_file(at / "0/file"), "small");
}

TEST_F(upload_caches, refuse_names_that_are_not_hashes) {
  auto cache = make();
  for (auto const* name : {"", "../../etc", "lock"})
    EXPECT_NE(error_of([&] { provide(cache, name, {at / "0"}); }), "") << name;
  EXPECT_EQ(fetched, 0);
}

}  // namespace
}  // namespace muster::test
