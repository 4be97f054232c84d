// Memory is reused once the kernel reports that no process holds it.
#include "client/blobs/regions.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <set>
#include <thread>

namespace muster::detail {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr std::size_t mb = 1 << 20;

class regions : public testing::Test {
 protected:
  void SetUp() override {
    if (!region_store::can_be()) GTEST_SKIP() << "this system grants no leases on memory";
  }
  static std::string content(std::size_t size = mb) {
    auto made = random_name();
    while (made.size() < size) made += made;
    return made.substr(0, size);
  }
  static std::string name_of(std::string const& bytes) { return bytes.substr(0, name_bytes); }
  static file_descriptor make(region_store& by, std::string const& bytes,
                              std::size_t free_max = 64 * mb) {
    std::string_view const all = bytes;
    std::string_view const parts[] = {all.substr(0, 100), all.substr(100)};
    return by.make(name_of(bytes), parts, free_max);
  }
  static bool has(file_descriptor const& fd, std::string const& bytes) {
    return wrong_memory(fd.get(), name_of(bytes), bytes.size()).empty() &&
           mapping(fd.get()).bytes() == bytes;
  }
  static ino_t inode(file_descriptor const& fd) {
    struct stat of {};
    fstat(fd.get(), &of);
    return of.st_ino;
  }
  template <class Is>
  static void until(Is const& is) {
    for (auto const end = clock::now() + 20s; !is(); std::this_thread::sleep_for(1ms))
      ASSERT_LT(clock::now(), end);
  }
};

TEST_F(regions, unused_regions_are_reused) {
  region_store by;
  auto const one = content(), other = content();
  auto fd = make(by, one);
  auto const was = inode(fd);
  EXPECT_TRUE(has(fd, one));
  fd.reset();
  fd = make(by, other);
  EXPECT_EQ(inode(fd), was);
  EXPECT_TRUE(has(fd, other));
  fd.reset();
  auto const smaller = other.substr(0, mb - 8'192);
  fd = make(by, smaller);
  EXPECT_EQ(inode(fd), was);
  EXPECT_TRUE(has(fd, smaller));
  fd.reset();
  for (auto const size : {mb / 2, 2 * mb}) {  // wastes too much memory, or does not fit
    auto const some = content(size);
    fd = make(by, some);
    EXPECT_NE(inode(fd), was);
    EXPECT_TRUE(has(fd, some));
    fd.reset();
  }
}

TEST_F(regions, large_regions_are_written_by_several_threads) {
  region_store by;
  auto const one = content(17 * mb + 5), other = content(17 * mb + 3);
  make(by, one).reset();
  auto const fd = make(by, other);
  EXPECT_EQ(by.size(), 1u);
  EXPECT_TRUE(has(fd, other));
  EXPECT_TRUE(same_bytes(other.data(), mapping(fd.get()).bytes().data(), other.size()));
  auto changed = other;
  changed.back() ^= 1;
  EXPECT_FALSE(same_bytes(other.data(), changed.data(), other.size()));
}

TEST_F(regions, regions_in_use_are_not_reused) {
  region_store by;
  auto const one = content(), other = content();
  auto fd = make(by, one);
  auto const was = inode(fd);
  EXPECT_NE(inode(make(by, other)), was) << "a descriptor";
  auto mapped = std::make_unique<mapping const>(fd.get());
  fd.reset();
  EXPECT_NE(inode(make(by, other)), was) << "a mapping";
  EXPECT_EQ(mapped->bytes(), one);
  mapped.reset();
  std::set<ino_t> found;
  for (int i = 0; i < 3; ++i) found.insert(inode(make(by, other)));
  EXPECT_TRUE(found.contains(was));
}

TEST_F(regions, only_the_creator_can_write_to_a_region) {
  region_store by;
  auto const one = content();
  auto const fd = make(by, one);
  file_descriptor const again(
      open(("/proc/self/fd/" + std::to_string(fd.get())).c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(again);
  EXPECT_EQ(pwrite(again.get(), "x", 1, 0), -1);
  EXPECT_EQ(ftruncate(again.get(), 1), -1);
  EXPECT_EQ(mmap(nullptr, mb, PROT_READ | PROT_WRITE, MAP_SHARED, again.get(), 0), MAP_FAILED);
  EXPECT_TRUE(has(fd, one));
}

TEST_F(regions, late_reader_never_gets_reused_content) {
  auto const one = content();
  std::string_view const all = one;
  region made(name_of(one), {&all, 1}, one.size());
  auto const opened_late = [&made] {
    return file_descriptor(
        open(("/proc/self/fd/" + std::to_string(made.descriptor())).c_str(), O_RDONLY));
  };
  {
    auto const in_time = opened_late();
    EXPECT_FALSE(made.is_free());
    EXPECT_TRUE(has(in_time, one));
  }
  ASSERT_TRUE(made.is_free());
  auto const late = opened_late();
  EXPECT_FALSE(is_named(late.get(), name_of(one)));
  EXPECT_EQ(content_size(late.get()), 0u);
}

TEST_F(regions, opening_a_region_under_a_lease_sends_an_ignored_signal) {
  std::string_view const byte("x");
  region made(random_name(), {&byte, 1}, 1);
  ASSERT_EQ(fcntl(made.descriptor(), F_SETLEASE, F_WRLCK), 0);
  auto const path = "/proc/self/fd/" + std::to_string(made.descriptor());
  EXPECT_EQ(open(path.c_str(), O_RDONLY | O_NONBLOCK), -1);
  EXPECT_EQ(errno, EWOULDBLOCK);
  EXPECT_EQ(fcntl(made.descriptor(), F_SETLEASE, F_UNLCK), 0);
}

TEST_F(regions, unused_regions_are_removed_after_a_time) {
  region_store by({.free_stays = 50ms, .look_every = 5ms});
  auto const one = content();
  auto holder = make(by, one);
  make(by, one).reset();
  until([&] { return by.size() == 1; });
  holder.reset();
  until([&] { return by.size() == 0; });
  make(by, one).reset();
  until([&] { return by.size() == 0; });
}

TEST_F(regions, number_of_regions_is_limited) {
  region_store by({.free_max = 2, .free_stays = 60s, .used_max = 3, .look_every = 5ms});
  auto const one = content();
  std::vector<file_descriptor> holders;
  for (int i = 0; i < 6; ++i) holders.push_back(make(by, one));
  EXPECT_EQ(by.size(), 3u);
  for (auto const& holder : holders) EXPECT_TRUE(has(holder, one)) << "open descriptors stay valid";
  holders.clear();
  until([&] { return by.size() == 2; });
  by.clear();
  for (int i = 0; i < 2; ++i) holders.push_back(make(by, one, mb + 8'192));
  holders.clear();
  until([&] { return by.size() == 1; });
  by.clear();
  make(by, one, mb - 1).reset();
  EXPECT_EQ(by.size(), 0u) << "regions of this size are not reused";
}

TEST_F(regions, unused_regions_are_freed_when_space_is_needed) {
  region_store by({.free_stays = 60s});
  auto one = make(by, content()), other = make(by, content(2 * mb));
  one.reset();
  other.reset();
  auto const large = content(4 * mb);
  auto fd = make(by, large, 5 * mb / 2);
  EXPECT_EQ(by.size(), 1u) << "the older region was freed";
  EXPECT_TRUE(has(fd, large));
  fd = make(by, large, 0);
  EXPECT_EQ(by.size(), 0u);
  EXPECT_TRUE(has(fd, large));
}

}  // namespace
}  // namespace muster::detail
