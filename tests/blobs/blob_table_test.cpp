#include "server/core/blobs/blob_table.hpp"

#include <gtest/gtest.h>

namespace muster::core {
namespace {

using namespace std::chrono_literals;

class BlobTable : public testing::Test {
 protected:
  BlobTable() : table(limits()) {}
  ~BlobTable() override { EXPECT_EQ(table.invalid(), ""); }

  static blob_limits limits() {
    blob_limits l;
    l.bytes_max = 100;
    l.blob_bytes_max = 60;
    l.blobs_max = 5;
    return l;
  }
  bool put(std::string const& hash, std::uint64_t size) {
    return table.reserve(size, now).ok() && table.put(hash, size, now);
  }

  blob_table table;
  time_point now{1'000s};
};

TEST_F(BlobTable, UnnamedBlobIsRemovedAfterTenMinutes) {
  ASSERT_TRUE(put("a", 10));
  now += 9min;
  table.sweep(now);
  EXPECT_EQ(table.size_of("a"), 10u);
  now += 1min;
  table.sweep(now);
  EXPECT_EQ(table.size_of("a"), std::nullopt);
  EXPECT_EQ(table.take_removed(), std::vector<std::string>{"a"});
  EXPECT_EQ(table.counts().bytes, 0u);
}

TEST_F(BlobTable, TouchKeepsABlobForTenMoreMinutes) {
  ASSERT_TRUE(put("a", 10));
  now += 9min;
  EXPECT_TRUE(table.touch("a", now));
  EXPECT_FALSE(table.touch("b", now));
  now += 9min;
  table.sweep(now);
  EXPECT_TRUE(table.size_of("a"));
}

TEST_F(BlobTable, HeldBlobIsKeptUntilEveryHolderReleasesIt) {
  ASSERT_TRUE(put("a", 10));
  EXPECT_TRUE(table.hold("a"));
  EXPECT_TRUE(table.hold("a"));
  now += 24h;
  table.sweep(now);
  EXPECT_EQ(table.counts().held_bytes, 10u);
  table.release("a", now);
  now += 24h;
  table.sweep(now);
  EXPECT_TRUE(table.size_of("a"));
  table.release("a", now);
  EXPECT_EQ(table.counts().held, 0u);
  now += 10min;
  table.sweep(now);
  EXPECT_FALSE(table.size_of("a"));
}

TEST_F(BlobTable, BlobCanBeHeldBeforeItsUpload) {
  EXPECT_FALSE(table.hold("a"));
  EXPECT_FALSE(table.size_of("a"));
  ASSERT_TRUE(put("a", 10));
  EXPECT_EQ(table.counts().held, 1u);
  table.release("a", now);
  EXPECT_FALSE(table.hold("b"));
  table.release("b", now);
  EXPECT_EQ(table.counts().blobs, 1u);
}

TEST_F(BlobTable, BudgetFullOfHeldBlobsRefusesMore) {
  ASSERT_TRUE(put("a", 60));
  table.hold("a");
  auto const refused = table.reserve(41, now);
  EXPECT_EQ(refused.code, code::resource_exhausted);
  EXPECT_NE(refused.message.find("--blob-bytes-max"), std::string::npos);
  EXPECT_TRUE(table.reserve(40, now).ok());
  table.give_back(40);
}

TEST_F(BlobTable, ReleasedBlobsAreEvictedBeforeUnusedOnes) {
  ASSERT_TRUE(put("put", 40));
  ASSERT_TRUE(put("released", 40));
  table.hold("released");
  table.release("released", now);
  ASSERT_TRUE(put("c", 40));  // evicts "released" at once
  EXPECT_EQ(table.take_removed(), std::vector<std::string>{"released"});
  EXPECT_FALSE(table.reserve(40, now).ok());  // both are new, so a reference to them may follow
  now += 31s;
  table.touch("put", now);
  ASSERT_TRUE(table.reserve(40, now).ok());
  EXPECT_EQ(table.take_removed(), std::vector<std::string>{"c"});
  table.give_back(40);
}

TEST_F(BlobTable, BlobSizeAndCountAreLimited) {
  EXPECT_EQ(table.reserve(61, now).code, code::out_of_range);
  for (auto const* hash : {"a", "b", "c", "d", "e"}) ASSERT_TRUE(put(hash, 1));
  EXPECT_EQ(table.reserve(1, now).code, code::resource_exhausted);
  EXPECT_FALSE(table.hold("f"));
  table.release("f", now);
}

TEST_F(BlobTable, RepeatedPutReturnsItsReservedSpace) {
  ASSERT_TRUE(put("a", 30));
  EXPECT_FALSE(put("a", 30));
  EXPECT_EQ(table.counts().bytes, 30u);
}

TEST_F(BlobTable, BlobInUseIsNotEvicted) {
  ASSERT_TRUE(put("a", 60));
  table.pin("a");
  now += 24h;
  table.sweep(now);
  EXPECT_FALSE(table.reserve(60, now).ok());
  table.unpin("a", now);
  now += 31s;
  EXPECT_TRUE(table.reserve(60, now).ok());
  table.give_back(60);
  table.take_removed();
}

TEST_F(BlobTable, BlobsOfAnEarlierProcessAreRestoredAndCanBeHeld) {
  table.hold("a");
  table.restore("a", 500, now);
  table.restore("b", 7, now);
  EXPECT_EQ(table.counts().held_bytes, 500u);
  now += 10min;
  table.sweep(now);
  EXPECT_TRUE(table.size_of("a"));
  EXPECT_FALSE(table.size_of("b"));
}

}  // namespace
}  // namespace muster::core
