#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "muster/journal/v1/records.pb.h"
#include "server/journal/etcd/etcd_view.hpp"
#include "server/journal/etcd/upkeep.hpp"
#include "tests/etcd/store_fixture.hpp"
#include "tests/support/temporary_directory.hpp"

namespace muster::server::journal::etcd {
namespace view_cases {

using kind = change::kind;

class etcd_view_test : public with_etcd_store {
 protected:
  void SetUp() override {
    with_etcd_store::SetUp();
    if (leader_) store_ = open();
  }
  std::unique_ptr<etcd_view> view() {
    auto v = etcd_view::open(members_->access());
    EXPECT_TRUE(v) << v.error().message;
    return v ? std::move(*v) : nullptr;
  }

  std::unique_ptr<etcd_store> store_;
};

TEST_F(etcd_view_test, has_all_entries_of_the_store_and_names_the_leader) {
  auto const large = std::string(3 << 20, 'l') + "end";
  ASSERT_TRUE(store_->write({{kind::put, "a", "1"}, {kind::put, "b1", large}}).ok());
  ASSERT_TRUE(store_->write({{kind::put, "b2", ""}}).ok());
  auto const v = view();
  EXPECT_EQ(all_of(*v), all_of(*store_));
  EXPECT_EQ(all_of(*v, "b"), (map{{"b1", large}, {"b2", ""}}));
  EXPECT_EQ(v->leader(), "127.0.0.1:1");
  EXPECT_GT(v->bytes_on_disk(), large.size());
  EXPECT_EQ(v->name(), members_->url());
  EXPECT_FALSE(v->write({{kind::put, "a", "2"}}).ok());
}

// A batch too large for a transaction becomes visible at once, although its entries are written in
// several transactions. Meanwhile etcd's history is compacted.
TEST_F(etcd_view_test, shows_a_consistent_snapshot_while_the_leader_writes) {
  std::atomic<bool> stop = false;
  std::atomic<int> written = 0;
  std::thread leader([&] {
    for (int round = 1; !stop; ++round) {
      std::vector<change> batch;
      for (int i = 0; i < 500; ++i)
        batch.push_back({kind::put, "k" + std::to_string(i), std::to_string(round)});
      if (!store_->write(batch).ok()) break;
      written = round;
    }
  });
  std::thread compaction([&] {
    while (!stop) (void)drop_history(members_->access());
  });
  ASSERT_TRUE(e2e::await([&] { return written > 0; }));
  for (int n = 0; n < 20; ++n) {
    int const before = written;
    auto const v = view();
    if (!v) break;
    auto const all = all_of(*v, "k");
    EXPECT_EQ(all.size(), 500u);
    for (auto const& [key, value] : all) ASSERT_EQ(value, all.begin()->second) << key;
    EXPECT_GE(std::stoi(all.begin()->second), before) << "acknowledged data are there";
  }
  stop = true;
  leader.join();
  compaction.join();
}

TEST_F(etcd_view_test, a_part_that_is_missing_is_damage) {
  names const n{"/test"};
  put_raw(n.redo_part(7, 1), "");
  put_raw(n.redo_end(7), "2");
  auto const v = etcd_view::open(members_->access());
  ASSERT_FALSE(v);
  EXPECT_EQ(v.error().message,
            members_->url() + ": its data is damaged (a batch has 1 of 2 parts)");
}

// A leader that had not seen another leader's value may have reused its number.
TEST_F(etcd_view_test, pieces_of_another_entry_are_damage_and_never_its_value) {
  names const n{"/test"};
  auto const key = std::string("k\0train\0large", 13);
  put_raw(n.entry(key), reference(5));
  put_raw(n.piece(5, 0), "another");
  put_raw(n.piece(5, 1), "its value");
  auto const expected = std::string("the value of key \"large\" of cluster 'train' is missing");
  auto const v = etcd_view::open(members_->access());
  ASSERT_FALSE(v);
  EXPECT_EQ(v.error().message, members_->url() + ": its data is damaged (" + expected + ")");
  auto const read = store_->read({}, [](auto, auto) { return true; });
  EXPECT_EQ(read.code, code::internal);
  EXPECT_EQ(read.message, "damaged: " + expected);

  muster::journal::v1::Format f;
  f.set_version(1);
  ASSERT_TRUE(store_->write({{kind::put, "format", f.SerializeAsString()}}).ok());
  leader_->resign();
  test::temporary_directory t;
  auto const refused = repair_prefix(members_->access(), t / "copy", false, {}, over);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("key \"large\" of cluster 'train': it cannot be read"),
            std::string::npos)
      << refused.error().message;
  auto const done = repair_prefix(members_->access(), t / "copy", true, {}, over);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->removed, 1u);
  EXPECT_TRUE(etcd_view::open(members_->access()));
}

TEST_F(etcd_view_test, restore_into_another_prefix_is_identical_and_leaves_nothing_on_failure) {
  muster::journal::v1::Format f;
  f.set_version(1);
  std::vector<change> batch{{kind::put, "format", f.SerializeAsString()},
                            {kind::put, "zz", std::string(2 << 20, 'z')}};
  for (int i = 0; i < 20'000; ++i) batch.push_back({kind::put, "z" + std::to_string(i), "v"});
  ASSERT_TRUE(store_->write(batch).ok());
  auto const v = view();
  auto there = members_->access();
  auto const again = restore_into(there, *v, {}, over);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, code::failed_precondition);
  EXPECT_EQ(again.error().message.find(members_->url() + ": a server is using it: 127.0.0.1:1"), 0u)
      << again.error().message;

  there.where.prefix = "/other";
  int told = 0;
  auto const broken = restore_into(
      there, *v,
      [&](std::string_view doing, auto, auto) { return doing != "copying" || ++told < 1; }, over);
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, code::cancelled) << broken.error().message;
  auto const nothing = etcd_view::open(there);
  ASSERT_TRUE(nothing);
  EXPECT_EQ(all_of(**nothing), map{});
  EXPECT_EQ((*nothing)->leader(), "");
}

TEST_F(etcd_view_test, restored_is_the_same) {
  muster::journal::v1::Format f;
  f.set_version(1);
  ASSERT_TRUE(store_
                  ->write({{kind::put, "format", f.SerializeAsString()},
                           {kind::put, "zz", std::string(2 << 20, 'z')}})
                  .ok());
  auto const v = view();
  auto there = members_->access();
  there.where.prefix = "/other";
  auto const done = restore_into(there, *v, {}, over);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->entries, 2u);
  auto const copy = etcd_view::open(there);
  ASSERT_TRUE(copy);
  EXPECT_EQ(all_of(**copy), all_of(*v));
  auto const again = restore_into(there, *v, {}, over);
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().message.find("already contains"), std::string::npos)
      << again.error().message;
}

}  // namespace view_cases
}  // namespace muster::server::journal::etcd
