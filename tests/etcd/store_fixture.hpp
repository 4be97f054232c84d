// A store in one real etcd member, and its leader.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "server/journal/etcd/etcd_store.hpp"
#include "server/journal/etcd/leadership.hpp"
#include "tests/etcd/members.hpp"
#include "tests/support/cannot_run.hpp"

namespace muster::server::journal::etcd {

using namespace std::chrono_literals;

struct lease_over : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void over(std::string const& why) {
  throw lease_over(why);
}

// Long, so that it never expires on a busy host.
inline constexpr auto lease = 30s;

class with_etcd_store : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!test::etcd_is_installed()) return test::cannot_run("/usr/bin/etcd is not there");
    begin({});
  }
  void begin(std::vector<std::string> const& flags) {
    leader_.reset();
    members_.emplace(1, flags);
    leader_ = lead(1);
  }

  std::unique_ptr<leadership> lead(std::uint64_t self) {
    auto l = std::make_unique<leadership>(
        members_->access(),
        leadership_options{"127.0.0.1:" + std::to_string(self), self, lease, over});
    EXPECT_TRUE(e2e::await([&] {
      auto const seen = l->try_to_lead();
      return seen && seen->leads;
    }));
    return l;
  }
  std::unique_ptr<etcd_store> open(std::uint64_t bytes_max = std::uint64_t{1} << 30) {
    auto s = etcd_store::open(members_->access(), leader_->begun(), {bytes_max, over});
    EXPECT_TRUE(s) << s.error().message;
    return std::move(*s);
  }
  /// Simulates a restart of the process.
  std::unique_ptr<etcd_store> open_anew() {
    leader_->resign();
    leader_ = lead(2);
    return open();
  }

  void put_raw(std::string const& key, std::string const& value) {
    client c(members_->access());
    wire::TxnRequest t;
    *t.add_success() = put(key, value);
    wire::TxnResponse answer;
    EXPECT_TRUE(c.ask(5s, "for a test", [&](member& m, grpc::ClientContext& context) {
                   return m.kv->Txn(&context, t, &answer);
                 }).ok());
  }

  std::optional<test::etcd_members> members_;
  std::unique_ptr<leadership> leader_;
};

using map = std::map<std::string, std::string>;

inline map all_of(store const& s, std::string_view prefix = {}) {
  map all;
  EXPECT_TRUE(
      s.read(prefix, [&](auto key, auto value) { return all.emplace(key, value), true; }).ok());
  return all;
}

}  // namespace muster::server::journal::etcd
