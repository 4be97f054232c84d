#include "server/core/coordination/key_values/key_value_store.hpp"

namespace muster::core::coordination {
namespace key_value_store_cases {

blob bytes(std::string_view text) {
  return blob(text, encoding::bytes);
}

TEST(key_value_store, callers_waiting_for_one_key_share_a_wait) {
  limits const l;
  changes said;
  key_value_store store(l, {said, cluster_id{1}});
  auto const a = store.wait("k", call_id{1}, {});
  EXPECT_EQ(store.wait("k", call_id{2}, {"/k", "a:1"}), a);
  EXPECT_NE(store.wait("other", call_id{3}, {}), a);
  EXPECT_EQ(store.awaited(a), "k");
  EXPECT_EQ(store.waiting_calls(), 3u);
  auto const woken = store.wake("k");
  ASSERT_EQ(woken.size(), 2u);
  EXPECT_EQ(woken.at(call_id{2}).asked, "/k");
  EXPECT_TRUE(store.wake("k").empty());
  EXPECT_EQ(store.violated_invariant(), "");
}

TEST(key_value_store, last_caller_to_leave_ends_the_wait) {
  limits const l;
  changes said;
  key_value_store store(l, {said, cluster_id{1}});
  auto const w = store.wait("k", call_id{1}, {});
  store.wait("k", call_id{2}, {});
  store.withdraw(w, call_id{1});
  EXPECT_EQ(store.waiting_at(w).size(), 1u);
  store.withdraw(w, call_id{2});
  EXPECT_TRUE(store.waiting().empty());
  EXPECT_EQ(store.violated_invariant(), "");
}

}  // namespace key_value_store_cases
}  // namespace muster::core::coordination
