#include "proto/outbox.hpp"

#include <gtest/gtest.h>

namespace muster::proto {
namespace {

struct counted {
  int entries = 0;
  void Clear() { entries = 0; }
};
using box = outbox<counted>;

TEST(outbox, starts_a_new_message_after_a_thousand_entries) {
  box b;
  for (int i = 0; i < 2500; ++i) ++b.add_entry(1).entries;
  EXPECT_EQ(b.entries(), 2500u);
  for (int expected : {1000, 1000, 500}) EXPECT_EQ(b.take_front()->message.entries, expected);
  EXPECT_TRUE(b.empty());
  EXPECT_EQ(b.entries(), 0u);
  EXPECT_EQ(b.bytes(), 0u);
}

TEST(outbox, keeps_messages_small_and_sends_a_large_entry_alone) {
  box b;
  for (std::size_t size : {100'000, 100'000, 100'000, 5'000'000, 10}) ++b.add_entry(size).entries;
  for (int expected : {2, 1, 1, 1}) EXPECT_EQ(b.take_front()->message.entries, expected);
  EXPECT_TRUE(b.empty());
}

TEST(outbox, reuses_a_message) {
  box b;
  ++b.add_entry(1).entries;
  auto part = b.take_front();
  auto* const first = &part->message;
  b.recycle(std::move(part));
  EXPECT_EQ(&b.add_entry(1), first);
  EXPECT_EQ(first->entries, 0);
}

TEST(outbox, starts_another_message_once_sealed) {
  box b;
  ++b.add_entry(1).entries;
  b.seal();
  ++b.add_entry(1).entries;
  EXPECT_EQ(b.take_front()->message.entries, 1);
  EXPECT_EQ(b.take_front()->message.entries, 1);
}

TEST(outbox, keeps_a_group_together) {
  box b;
  ++b.add_entry(1).entries;
  b.begin_group();
  for (int i = 0; i < 1500; ++i) ++b.add_entry(1000).entries;
  b.end_group();
  ++b.add_entry(1).entries;
  EXPECT_EQ(b.take_front()->message.entries, 1);
  EXPECT_EQ(b.take_front()->message.entries, 1500);
  EXPECT_EQ(b.take_front()->message.entries, 1);
}

}  // namespace
}  // namespace muster::proto
