#include <gtest/gtest.h>

#include <atomic>

#include "server/journal/journal.hpp"
#include "tests/etcd/store_fixture.hpp"

namespace muster::server::journal::etcd {
namespace store_cases {

using kind = change::kind;

class etcd_store_test : public with_etcd_store {};

std::vector<change> many(std::size_t n, std::string const& value) {
  std::vector<change> batch;
  for (std::size_t i = 0; i < n; ++i) batch.push_back({kind::put, "k" + std::to_string(i), value});
  return batch;
}

TEST_F(etcd_store_test, is_an_ordered_map_like_other_stores) {
  auto s = open();
  EXPECT_TRUE(s->write({{kind::put, "b", "2"}, {kind::put, "a", "1"}, {kind::put, "a", "4"}}).ok());
  EXPECT_EQ(all_of(*s), (map{{"a", "4"}, {"b", "2"}}));
  EXPECT_TRUE(s->write({{kind::erase_below, "a"}, {kind::put, "a2", ""}, {kind::erase, "b"}}).ok());
  EXPECT_EQ(all_of(*s), (map{{"a2", ""}}));
  EXPECT_TRUE(s->write({}).ok());
  std::string const zero("z\0\xff", 3);
  EXPECT_TRUE(s->write({{kind::put, zero, zero}}).ok());
  EXPECT_EQ(all_of(*s, "z"), (map{{zero, zero}}));
  EXPECT_EQ(all_of(*open_anew()), (map{{"a2", ""}, {zero, zero}}));
}

TEST_F(etcd_store_test, stores_values_and_batches_larger_than_a_transaction) {
  auto s = open();
  auto expected = map{};
  for (auto const& c : many(1'000, std::string(3'000, 'v'))) expected[c.key] = c.value;
  ASSERT_TRUE(s->write(many(1'000, std::string(3'000, 'v'))).ok());
  EXPECT_EQ(all_of(*s), expected);
  auto const large = std::string(5 << 20, 'l') + "end";
  ASSERT_TRUE(s->write({{kind::put, "large", large}, {kind::put, "k0", large}}).ok());
  expected["large"] = expected["k0"] = large;
  EXPECT_EQ(all_of(*s), expected);
  s = open_anew();
  EXPECT_EQ(all_of(*s), expected);
  // The pieces of a new large value do not replace those of an older value.
  auto const other = std::string(5 << 20, 'o') + "end";
  ASSERT_TRUE(s->write({{kind::put, "other", other}}).ok());
  expected["other"] = other;
  EXPECT_EQ(all_of(*s), expected);
  ASSERT_TRUE(
      s->write({{kind::erase, "other"}, {kind::put, "large", "small"}, {kind::erase_below, "k"}})
          .ok());
  EXPECT_EQ(all_of(*s), (map{{"large", "small"}}));
  EXPECT_GT(s->bytes_on_disk(), 0u);
  // All pieces of the overwritten and erased values were deleted.
  client c(members_->access());
  wire::RangeRequest request;
  request.set_key(names{"/test"}.pieces());
  request.set_range_end(behind(request.key()));
  wire::RangeResponse answer;
  EXPECT_TRUE(c.ask(5s, "for a test", [&](member& m, grpc::ClientContext& context) {
                 return m.kv->Range(&context, request, &answer);
               }).ok());
  EXPECT_TRUE(answer.kvs().empty());
}

class etcd_store_left : public etcd_store_test {
 protected:
  static std::string part(std::string const& key, std::string const& value) {
    wire::TxnRequest t;
    *t.add_success() = put(names{"/test"}.entry(key), "=" + value);
    return t.SerializeAsString();
  }
};

TEST_F(etcd_store_left, a_batch_without_its_end_is_dropped) {
  names const n{"/test"};
  put_raw(n.redo_part(7, 0), part("a", "1"));
  EXPECT_EQ(all_of(*open()), map{});
  EXPECT_EQ(all_of(*open_anew()), map{});
}

TEST_F(etcd_store_left, a_batch_with_its_end_is_done) {
  names const n{"/test"};
  put_raw(n.redo_part(6, 0), part("a", "of a batch before that never was"));
  put_raw(n.redo_part(7, 0), part("a", "1"));
  put_raw(n.redo_part(7, 1), part("b", "2"));
  put_raw(n.redo_end(7), "2");
  auto s = open();
  EXPECT_EQ(all_of(*s), (map{{"a", "1"}, {"b", "2"}}));
  ASSERT_TRUE(s->write({{kind::erase, "a"}}).ok());
  EXPECT_EQ(all_of(*open_anew()), (map{{"b", "2"}})) << "once";
}

TEST_F(etcd_store_left, a_batch_that_lacks_a_part_is_damage) {
  names const n{"/test"};
  put_raw(n.redo_part(7, 1), part("b", "2"));
  put_raw(n.redo_end(7), "2");
  auto const s = etcd_store::open(members_->access(), leader_->begun(), {1 << 30, over});
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().message, "damaged: a batch has 1 of 2 parts");
}

TEST_F(etcd_store_left, a_part_of_an_entry_without_a_number_is_damage) {
  put_raw(names{"/test"}.pieces() + "not-a-hex-number/00000000", "=x");
  auto const s = etcd_store::open(members_->access(), leader_->begun(), {1 << 30, over});
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().message, "damaged: a part of an entry has an invalid number");
}

TEST_F(etcd_store_test, former_leader_cannot_write) {
  auto s = open();
  ASSERT_TRUE(s->write({{kind::put, "a", "1"}}).ok());
  auto next = open_anew();
  ASSERT_TRUE(next->write({{kind::put, "a", "2"}}).ok());
  EXPECT_THROW((void)s->write({{kind::put, "a", "3"}}), lease_over);
  EXPECT_THROW((void)s->write(many(1'000, "3")), lease_over);
  EXPECT_EQ(all_of(*next), (map{{"a", "2"}}));
  // A leader's delayed transaction from before is rejected, too, since etcd can apply it late.
  auto const version = leader_->begun().version;
  auto late = etcd_store::open(members_->access(), {leader_->begun().created, version}, {1, over});
  ASSERT_TRUE(late);
  EXPECT_THROW((void)(*late)->write({{kind::put, "a", "4"}}), lease_over);
  EXPECT_EQ(all_of(*next), (map{{"a", "2"}}));
}

TEST_F(etcd_store_test, one_leads_and_the_next_follows_when_it_resigns) {
  leadership other(members_->access(), {"127.0.0.1:9", 9, 3s, over});
  auto const seen = other.try_to_lead();
  ASSERT_TRUE(seen);
  EXPECT_FALSE(seen->leads);
  EXPECT_EQ(seen->leader, "127.0.0.1:1");
  EXPECT_GT(leader_->left(), lease / 3);
  EXPECT_LT(leader_->left(), lease) << "it ends before etcd's";
  leader_->resign();
  EXPECT_TRUE(other.try_to_lead()->leads);
}

TEST_F(etcd_store_test, fewer_free_bytes_than_the_limit_count_as_full) {
  auto s = open(1);
  EXPECT_EQ(s->bytes_free(), 0u);
  s = open_anew();
  EXPECT_GT(s->bytes_free().value_or(0), std::uint64_t{1} << 29);
}

// 40 values of 400 kB exceed etcd's own quota. No value is lost, and overwriting frees space.
// Whether a caller notices the shortage depends on timing.
TEST_F(etcd_store_test, waits_while_etcd_is_out_of_space_and_resumes) {
  begin({"--quota-backend-bytes=10000000"});
  std::atomic<std::uint64_t> durable = 0;
  std::atomic<bool> failed = false;
  journal j(open(), {}, [&](std::uint64_t upto, muster::status const& s) {
    durable = upto;
    failed = failed || !s.ok();
  });
  std::uint64_t last = 0;
  for (int i = 0; i < 40; ++i) {
    last = j.append({{kind::put, "same", std::string(400'000, static_cast<char>('a' + i % 26))}});
    ASSERT_TRUE(e2e::await([&] { return durable >= last; }, 60s)) << i;
  }
  EXPECT_FALSE(failed);
  j.stop();
  EXPECT_EQ(all_of(*open_anew()).at("same"),
            std::string(400'000, static_cast<char>('a' + 39 % 26)));
}

class etcd_with_users : public etcd_store_test {
  void SetUp() override {
    if (!test::etcd_is_installed()) return test::cannot_run("/usr/bin/etcd is not there");
  }
};

TEST_F(etcd_with_users, and_tls_admits_only_clients_with_a_password) {
  test::etcd_members m(1, {}, true);
  m.control({"user", "add", "root:toor"});
  m.control({"user", "grant-role", "root", "root"});
  m.control({"user", "add", "me:secret"});
  m.control({"role", "add", "muster"});
  m.control({"role", "grant-permission", "muster", "--prefix=true", "readwrite", "/test/"});
  m.control({"user", "grant-role", "me", "muster"});
  m.control({"auth", "enable"});
  auto mine = m.access();
  leadership nobody(mine, {"a:1", 1, 3s, over});
  EXPECT_FALSE(nobody.try_to_lead());
  mine.where.user = "me";
  mine.password = "wrong";
  leadership wrong(mine, {"a:1", 1, 3s, over});
  auto const refused = wrong.try_to_lead();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message.find("wrong"), std::string::npos) << refused.error().message;
  mine.password = "secret";
  leadership right(mine, {"a:1", 1, 3s, over});
  auto const leads = right.try_to_lead();
  ASSERT_TRUE(leads) << leads.error().message;
  ASSERT_TRUE(leads->leads);
  auto s = etcd_store::open(mine, right.begun(), {1 << 30, over});
  ASSERT_TRUE(s) << s.error().message;
  EXPECT_TRUE((*s)->write(many(500, "v")).ok());
  EXPECT_EQ(all_of(**s).size(), 500u);
  auto unknown = mine;
  unknown.authorities.clear();
  leadership doubts(unknown, {"a:1", 1, 3s, over});
  EXPECT_FALSE(doubts.try_to_lead()) << "no CA certificate verifies etcd";
}

}  // namespace store_cases
}  // namespace muster::server::journal::etcd
