#include <gtest/gtest.h>

#include "muster/journal/v1/records.pb.h"
#include "server/journal/etcd/etcd_version.hpp"
#include "server/journal/etcd/etcd_view.hpp"
#include "server/journal/etcd/upkeep.hpp"
#include "tests/etcd/lagging_member.hpp"
#include "tests/etcd/store_fixture.hpp"

namespace muster::server::journal::etcd {
namespace lagging_cases {

using kind = change::kind;

class lagging_etcd : public with_etcd_store {
 protected:
  void SetUp() override {
    with_etcd_store::SetUp();
    if (!leader_) return;
    lagging_.emplace(members_->host(0));
    store_ = open();
    ASSERT_TRUE(store_->write({{kind::put, "a", "1"}}).ok());
    auto const then = lagging_->revision();
    ASSERT_TRUE(store_->write({{kind::put, "b", "2"}}).ok());
    lagging_->fall_behind(then);
  }
  access reached(std::vector<std::string> hosts) const {
    auto a = members_->access();
    a.where.hosts = std::move(hosts);
    return a;
  }
  access alone() const { return reached({lagging_->host()}); }
  void next_leader() {
    store_.reset();
    leader_->resign();
    leader_ = lead(2);
  }

  std::optional<test::lagging_member> lagging_;
  std::unique_ptr<etcd_store> store_;
};

TEST_F(lagging_etcd, next_leader_reads_from_an_up_to_date_member) {
  next_leader();
  auto const s = etcd_store::open(reached({lagging_->host(), members_->host(0)}), leader_->begun(),
                                  {.over = over});
  ASSERT_TRUE(s) << s.error().message;
  EXPECT_EQ(all_of(**s), (map{{"a", "1"}, {"b", "2"}}));
  EXPECT_GT(lagging_->old_answers(), 0);
}

TEST_F(lagging_etcd, next_leader_opens_nothing_while_every_member_is_behind) {
  next_leader();
  store_options o;
  o.recent_answer_limit = 400ms;
  o.over = over;
  auto const early = etcd_store::open(alone(), leader_->begun(), o);
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().code, code::unavailable);
  EXPECT_NE(early.error().message.find("is older than revision"), std::string::npos)
      << early.error().message;
  lagging_->catch_up();
  auto const late = etcd_store::open(alone(), leader_->begun(), o);
  ASSERT_TRUE(late) << late.error().message;
  EXPECT_EQ(all_of(**late), (map{{"a", "1"}, {"b", "2"}}));
}

TEST_F(lagging_etcd, leader_rejects_answers_older_than_its_own_writes) {
  next_leader();
  lagging_->catch_up();
  auto const s = etcd_store::open(reached({lagging_->host(), members_->host(0)}), leader_->begun(),
                                  {.over = over});
  ASSERT_TRUE(s) << s.error().message;
  auto const then = lagging_->revision();
  ASSERT_TRUE((*s)->write({{kind::put, "c", "3"}}).ok());
  lagging_->fall_behind(then);
  EXPECT_EQ(all_of(**s), (map{{"a", "1"}, {"b", "2"}, {"c", "3"}}));
}

TEST_F(lagging_etcd, view_has_everything_acknowledged_or_fails) {
  auto const v = etcd_view::open(reached({lagging_->host(), members_->host(0)}));
  ASSERT_TRUE(v) << v.error().message;
  EXPECT_EQ(all_of(**v), (map{{"a", "1"}, {"b", "2"}}));
  EXPECT_TRUE((*v)->notes().empty());
  auto const old = etcd_view::open(alone());
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().code, code::unavailable);
  EXPECT_NE(old.error().message.find("is older than revision"), std::string::npos)
      << old.error().message;
}

TEST_F(lagging_etcd, restore_does_not_take_an_old_answer_for_an_empty_prefix) {
  muster::journal::v1::Format f;
  f.set_version(1);
  ASSERT_TRUE(store_->write({{kind::put, "format", f.SerializeAsString()}}).ok());
  auto const v = etcd_view::open(members_->access());
  ASSERT_TRUE(v);
  next_leader();
  leader_->resign();
  lagging_->fall_behind(1);
  auto const restored = restore_into(alone(), **v, {}, over);
  ASSERT_FALSE(restored);
  EXPECT_EQ(restored.error().code, code::unavailable) << restored.error().message;
  lagging_->catch_up();
  auto const now = etcd_view::open(members_->access());
  ASSERT_TRUE(now);
  EXPECT_EQ(all_of(**now), all_of(**v));
}

// Answers with a revision below `required()` are rejected.
TEST_F(lagging_etcd, client_never_accepts_an_older_answer_than_before) {
  client c(reached({members_->host(0)}));
  ASSERT_TRUE(c.require_all_acknowledged(5s, "for a test").ok());
  EXPECT_EQ(c.required(), lagging_->revision());
  c.require(c.required() + 5);
  wire::RangeRequest request;
  request.set_key("nothing");
  wire::RangeResponse answer;
  auto const asked =
      c.ask(200ms, "for a test", c.reading(&member::kv, &wire::KV::Stub::Range, request, answer));
  EXPECT_EQ(asked.code, code::unavailable) << asked.message;
}

TEST(etcd_version, before_the_fix_can_answer_with_old_data) {
  for (auto const* old : {"3.4.23", "3.5.21", "3.6.0", "3.6.8", "3.6.8-rc.1", "2.3.9"})
    EXPECT_TRUE(can_answer_with_old_data(old)) << old;
  for (auto const* fixed : {"3.6.9", "3.6.10", "3.7.0", "3.7.0-alpha.0", "4.0.0", "", "unknown"})
    EXPECT_FALSE(can_answer_with_old_data(fixed)) << fixed;
}

}  // namespace lagging_cases
}  // namespace muster::server::journal::etcd
