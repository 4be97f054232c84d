#include "server/core/blobs/holder_table.hpp"

#include <gtest/gtest.h>

namespace muster::core {
namespace {

using namespace std::chrono_literals;

class HolderTable : public testing::Test {
 protected:
  HolderTable() : table({.names_max = 3, .told = 30s}) {
    table.open(1, {"client"});
    table.open(2, {"worker", "worker:0"});
  }
  ~HolderTable() override { EXPECT_EQ(table.invalid(), ""); }

  holder_table table;
  time_point now{1'000s};
};

TEST_F(HolderTable, FindsTheHoldersOfAName) {
  EXPECT_TRUE(table.hold(1, "a", 10, now));
  EXPECT_TRUE(table.hold(2, "b", 20, now));
  EXPECT_TRUE(table.hold(2, "b", 20, now)) << "repeated";
  ASSERT_TRUE(table.find("b"));
  EXPECT_EQ(table.find("b")->by, std::vector<holder_id>{2});
  EXPECT_EQ(table.find("b")->size, 20u);
  EXPECT_TRUE(table.holds(1, "a"));
  EXPECT_FALSE(table.holds(2, "a"));
  EXPECT_EQ(table.counts().names, 2u);
  EXPECT_EQ(table.counts().bytes, 30u);
  EXPECT_EQ(table.counts().outputs, 1u);
  ASSERT_EQ(table.workers(5).size(), 1u) << "clients are not listed";
  EXPECT_EQ(table.workers(5)[0].task, "worker:0");
  EXPECT_EQ(table.workers(5)[0].bytes, 20u);
  EXPECT_TRUE(table.workers(0).empty());
  table.drop(2, "a", now);
  EXPECT_TRUE(table.find("a")) << "it belongs to another holder";
  table.drop(1, "a", now);
  EXPECT_FALSE(table.find("a"));
}

TEST_F(HolderTable, RemovesTheNamesOfADisconnectedHolder) {
  ASSERT_TRUE(table.hold(2, "b", 20, now));
  table.close(2, now);
  table.close(2, now);
  EXPECT_FALSE(table.find("b"));
  EXPECT_EQ(table.counts().bytes, 0u);
  EXPECT_EQ(table.counts().outputs, 0u);
}

TEST_F(HolderTable, RefusesTheNameOfAnotherProcess) {
  ASSERT_TRUE(table.hold(1, "a", 10, now));
  EXPECT_FALSE(table.hold(2, "a", 10, now));
  EXPECT_TRUE(table.holds(1, "a"));
}

TEST_F(HolderTable, GivesANameToTheNewerStreamOfAProcess) {
  ASSERT_TRUE(table.hold(1, "a", 10, now));
  table.open(3, {"client"});
  EXPECT_FALSE(table.hold(3, "a", 10, now)) << "this process only claims to be it";
  table.open(4, {"client", "", "", 1});
  EXPECT_TRUE(table.hold(4, "a", 10, now));
  table.close(1, now);
  EXPECT_TRUE(table.holds(4, "a"));
}

TEST_F(HolderTable, NamesBeyondTheLimitAreRefused) {
  for (auto const* name : {"a", "b", "c"}) EXPECT_TRUE(table.hold(1, name, 1, now));
  EXPECT_FALSE(table.hold(1, "d", 1, now));
  EXPECT_TRUE(table.hold(1, "a", 1, now)) << "it is known";
  table.drop(1, "b", now);
  EXPECT_TRUE(table.hold(1, "d", 1, now));
}

TEST_F(HolderTable, NotifiesOnlyWorkersOfUnnamedOutputs) {
  ASSERT_TRUE(table.hold(1, "a", 10, now));
  ASSERT_TRUE(table.hold(2, "b", 20, now));
  EXPECT_TRUE(table.workers_to_drop("a").empty()) << "a client drops its arguments itself";
  EXPECT_EQ(table.workers_to_drop("b"), std::vector<holder_id>{2});
  EXPECT_TRUE(table.workers_to_drop("c").empty());
}

TEST_F(HolderTable, KeepsOutputsForATimeBeforeTheyAreNamed) {
  ASSERT_TRUE(table.hold(1, "a", 10, now));
  ASSERT_TRUE(table.hold(2, "b", 20, now));
  ASSERT_TRUE(table.hold(2, "c", 20, now + 1s));
  EXPECT_TRUE(table.take_copied(now + 9s, 10).empty());
  EXPECT_EQ(table.take_copied(now + 11s, 1), std::vector<std::string>{"b"});
  EXPECT_EQ(table.take_copied(now + 11s, 10), std::vector<std::string>{"c"});
  EXPECT_TRUE(table.take_copied(now + 99s, 10).empty());
  EXPECT_TRUE(table.take_unreferenced(now + 29s, 10).empty());
  EXPECT_EQ(table.take_unreferenced(now + 31s, 1), std::vector<std::string>{"b"});
  EXPECT_EQ(table.take_unreferenced(now + 31s, 10), std::vector<std::string>{"c"});
  EXPECT_TRUE(table.take_unreferenced(now + 99s, 10).empty());
}

TEST_F(HolderTable, OutputsAreLostUnlessTheirWorkerComesBack) {
  ASSERT_TRUE(table.hold(1, "a", 10, now));
  ASSERT_TRUE(table.hold(2, "b", 20, now));
  ASSERT_TRUE(table.hold(2, "c", 20, now));
  table.close(1, now);
  table.close(2, now);
  EXPECT_TRUE(table.take_lost(now + 2s, 10).empty());
  table.open(3, {"worker", "worker:0", "", 2});
  ASSERT_TRUE(table.hold(3, "c", 20, now + 2s));
  EXPECT_EQ(table.take_lost(now + 3s, 10), std::vector<std::string>{"b"});
  EXPECT_TRUE(table.take_lost(now + 99s, 10).empty());
}

TEST_F(HolderTable, AnOutputThatAClientHoldsIsNotLost) {
  table.open(4, {"client", ""});
  ASSERT_TRUE(table.hold(2, "a", 10, now));
  table.close(2, now);
  ASSERT_TRUE(table.hold(4, "a", 10, now));
  EXPECT_EQ(table.invalid(), "");
  EXPECT_TRUE(table.take_lost(now + 99s, 10).empty());
}

TEST_F(HolderTable, OutputsAreLostAtOnceWhenAnotherProcessHasTheTask) {
  table.open(4, {"worker", "worker:7"});
  ASSERT_TRUE(table.hold(2, "a", 10, now));
  ASSERT_TRUE(table.hold(4, "b", 20, now));
  table.close(2, now);
  table.close(4, now);
  table.open(5, {"worker", "worker:7"});
  EXPECT_EQ(table.take_lost(now, 10), std::vector<std::string>{"b"}) << "the maker of a can return";
  EXPECT_EQ(table.take_lost(now + 3s, 10), std::vector<std::string>{"a"});
  EXPECT_EQ(table.invalid(), "");
}

}  // namespace
}  // namespace muster::core
