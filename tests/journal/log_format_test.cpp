#include "server/journal/log_format.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "server/journal/rocks_store.hpp"
#include "tests/support/temporary_directory.hpp"

namespace muster::server::journal {
namespace {

namespace fs = std::filesystem;
using kind = log_end::kind;

constexpr std::size_t checksum_size = 4, sizes_size = 3;  // layout of a record's header

log_end end_of(std::string_view bytes, bool checksums = true) {
  auto const read = [&](char* into, std::size_t n) {
    n = std::min(n, bytes.size());
    std::copy_n(bytes.begin(), n, into);
    bytes.remove_prefix(n);
    return n;
  };
  return walk_log(read, checksums);
}

// Returns the log of RocksDB with one write for each value.
std::string log_of(std::vector<std::string> const& values) {
  test::temporary_directory at;
  {
    auto s = rocks_store::open(at / "d");
    EXPECT_TRUE(s.has_value());
    for (auto const& v : values) EXPECT_TRUE((*s)->write({{change::kind::put, "key", v}}).ok());
  }
  for (auto const& f : fs::directory_iterator(at / "d"))
    if (f.path().extension() == ".log") {
      std::ostringstream text;
      text << std::ifstream(f.path(), std::ios::binary).rdbuf();
      return text.str();
    }
  return {};
}

TEST(log_format, complete_log_is_whole) {
  EXPECT_EQ(end_of("").what, kind::whole);
  // Some ends of blocks are too short for a header.
  std::vector<std::string> values = {"1", std::string(100'000, 'x')};
  for (std::size_t n = 32'700; n < 32'768; ++n) values.push_back(std::string(n, 'y'));
  auto const log = log_of(values);
  EXPECT_GT(log.size(), 2'000'000u);
  EXPECT_EQ(end_of(log).what, kind::whole);
  EXPECT_EQ(end_of(log, false).what, kind::whole);
}

TEST(log_format, truncated_log_is_torn_at_its_last_record) {
  auto const first = log_of({"1"}).size();
  auto const log = log_of({"1", std::string(70'000, 'x')});
  for (std::size_t n = 1; n < log.size(); n += n < 2 * first ? 1 : 997) {
    auto const end = end_of(std::string_view(log).substr(0, n));
    EXPECT_EQ(end.what, n == first ? kind::whole : kind::torn) << n;
    EXPECT_EQ(end.at, n <= first ? 0 : first) << n;
  }
  // Only the type of the first part shows that more parts are missing.
  EXPECT_EQ(end_of(std::string_view(log).substr(0, 32'768)).at, first);
  EXPECT_EQ(end_of(std::string_view(log).substr(0, 32'768)).what, kind::torn);
}

TEST(log_format, space_that_was_reserved_is_torn) {
  auto const log = log_of({"1"});
  for (auto const zeros : {1, 6, 7, 100, 40'000, 100'000}) {
    auto const end = end_of(log + std::string(static_cast<std::size_t>(zeros), '\0'));
    EXPECT_EQ(end.what, kind::torn) << zeros;
    EXPECT_EQ(end.at, log.size()) << zeros;
  }
  // A crash can store later pages of a write but not earlier ones.
  auto const holes = log + std::string(40'000, '\0') + "some of it";
  EXPECT_EQ(end_of(holes).what, kind::torn);
  EXPECT_EQ(end_of(holes).at, log.size());
  EXPECT_EQ(end_of(log + std::string(100, '\0') + "some of it").at, log.size());
  // A complete write after the gap is damage.
  auto const lost = log + std::string(32'768 - log.size(), '\0') + log;
  EXPECT_EQ(end_of(lost).what, kind::damaged);
  EXPECT_EQ(end_of(lost, false).what, kind::damaged);
}

// RocksDB takes a wrong length for a torn record and drops it.
TEST(log_format, every_wrong_bit_is_damage_not_a_torn_record) {
  auto const begin = log_of({"first"}).size();
  auto const log = log_of({"first", "the second one"});
  for (std::size_t i = 0; i < log.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      auto wrong = log;
      wrong[i] = static_cast<char>(wrong[i] ^ 1 << bit);
      auto const end = end_of(wrong);
      EXPECT_EQ(end.what, kind::damaged) << "byte " << i << " bit " << bit;
      EXPECT_EQ(end.at, i < begin ? 0 : begin) << "byte " << i << " bit " << bit;
    }
}

TEST(log_format, torn_record_is_distinguished_from_a_wrong_length_without_checksums) {
  auto const begin = log_of({"first"}).size();
  auto log = log_of({"first", "the second one"});
  log[begin + checksum_size + sizes_size] = '?';  // an error that only RocksDB's checksum finds
  EXPECT_EQ(end_of(log, false).what, kind::whole);
  EXPECT_EQ(end_of(log.substr(0, log.size() - 1), false).what, kind::torn);
  log = log_of({"first", "the second one"});
  log[begin + checksum_size] = '\x7f';
  EXPECT_EQ(end_of(log, false).what, kind::damaged);
}

}  // namespace
}  // namespace muster::server::journal
