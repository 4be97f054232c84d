#include "server/journal/etcd/address.hpp"

#include <gtest/gtest.h>

namespace muster::server::journal::etcd {
namespace {

TEST(etcd_address, has_hosts_a_prefix_and_an_optional_user) {
  auto const one = parse_address("etcd://127.0.0.1:2379/muster");
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_EQ(*one, (address{{"127.0.0.1:2379"}, "/muster", "", false}));
  auto const all = parse_address("etcds://me@a.example:2379,[::1]:2380,b:1/x/y/");
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(*all, (address{{"a.example:2379", "[::1]:2380", "b:1"}, "/x/y", "me", true}));
  EXPECT_EQ(all->text(), "etcds://me@a.example:2379,[::1]:2380,b:1/x/y");
}

TEST(etcd_address, invalid_address_error_explains_the_format) {
  for (auto const* text :
       {"", "etcd:", "http://a:1/p", "etcd://", "etcd:///p", "etcd://a/p", "etcd://a:0/p",
        "etcd://a:65536/p", "etcd://a:1", "etcd://a:1/", "etcd://a:1,/p", "etcd://,a:1/p",
        "etcd://@a:1/p", "etcd://a:1:2/p", "etcd://::1:2/p", "etcd://a b:1/p"}) {
    auto const wrong = parse_address(text);
    ASSERT_FALSE(wrong) << text;
    EXPECT_NE(wrong.error().message.find("use etcd://HOST:2379"), std::string::npos) << text;
  }
  std::string many = "etcd://a:1";
  for (int i = 0; i < 16; ++i) many += ",a:1";
  EXPECT_FALSE(parse_address(many + "/p"));
}

TEST(etcd_address, password_is_rejected_and_never_repeated) {
  auto const wrong = parse_address("etcd://me:secret@a:1/p");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message.find("secret"), std::string::npos);
  EXPECT_NE(wrong.error().message.find("--store-password-file"), std::string::npos);
}

}  // namespace
}  // namespace muster::server::journal::etcd
