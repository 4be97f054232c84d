// Elections while etcd takes longer than a call's timeout. A fake member delays transactions.
#include "server/journal/etcd/leadership.hpp"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <thread>

namespace muster::server::journal::etcd {
namespace leadership_cases {

using namespace std::chrono_literals;

/// Stores only the leader's key. Its leases never expire.
class late_member : public wire::KV::Service, public wire::Lease::Service {
 public:
  late_member() {
    grpc::ServerBuilder b;
    b.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    b.RegisterService(static_cast<wire::KV::Service*>(this));
    b.RegisterService(static_cast<wire::Lease::Service*>(this));
    server_ = b.BuildAndStart();
  }
  access reached() const {
    access a;
    a.where.hosts = {"127.0.0.1:" + std::to_string(port_)};
    a.where.prefix = "/p";
    return a;
  }

  /// Delays the first transaction, whose caller gets no answer.
  void keep_one() { keeps_ = true; }
  void do_it_late() {
    std::lock_guard const lock(mutex_);
    wire::TxnResponse nobody_reads;
    if (kept_) apply(*kept_, nobody_reads);
    kept_.reset();
  }
  /// Runs the delayed transaction with the next granted lease.
  void do_it_with_the_next_lease() { with_lease_ = true; }

 private:
  using context = grpc::ServerContext;

  grpc::Status Range(context*, wire::RangeRequest const*, wire::RangeResponse* r) override {
    std::lock_guard const lock(mutex_);
    if (key_) *r->add_kvs() = *key_;
    return {};
  }
  grpc::Status Txn(context*, wire::TxnRequest const* t, wire::TxnResponse* r) override {
    std::lock_guard const lock(mutex_);
    if (keeps_.exchange(false)) {
      kept_ = *t;
      return {grpc::StatusCode::DEADLINE_EXCEEDED, "it takes longer"};
    }
    return apply(*t, *r);
  }
  grpc::Status apply(wire::TxnRequest const& t, wire::TxnResponse& r) {
    if (key_) {
      *r.add_responses()->mutable_response_range()->add_kvs() = *key_;
      return {};
    }
    auto const& put = t.success(0).request_put();
    if (!leases_.contains(put.lease()))
      return {grpc::StatusCode::NOT_FOUND, "etcdserver: requested lease not found"};
    auto& kv = key_.emplace();
    kv.set_key(put.key());
    kv.set_value(put.value());
    kv.set_lease(put.lease());
    kv.set_create_revision(1);
    kv.set_version(1);
    r.set_succeeded(true);
    return {};
  }
  grpc::Status LeaseGrant(context*, wire::LeaseGrantRequest const* q,
                          wire::LeaseGrantResponse* r) override {
    if (with_lease_.exchange(false)) do_it_late();
    std::lock_guard const lock(mutex_);
    leases_.insert(++last_);
    r->set_id(last_);
    r->set_ttl(q->ttl());
    return {};
  }
  grpc::Status LeaseRevoke(context*, wire::LeaseRevokeRequest const* q,
                           wire::LeaseRevokeResponse*) override {
    std::lock_guard const lock(mutex_);
    leases_.erase(q->id());
    if (key_ && key_->lease() == q->id()) key_.reset();
    return {};
  }

  std::mutex mutex_;
  std::optional<wire::KeyValue> key_;
  std::set<std::int64_t> leases_;
  std::int64_t last_ = 0;
  std::optional<wire::TxnRequest> kept_;
  std::atomic<bool> keeps_ = false, with_lease_ = false;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

struct leadership_of_late_etcd : ::testing::Test {
  late_member etcd;
  std::atomic<int> left = 0;
  leadership mine{etcd.reached(), {"a:1", 1, 2s, [this](auto const&) { ++left; }}};
};

TEST_F(leadership_of_late_etcd, attempt_executed_late_does_not_prevent_leading) {
  etcd.keep_one();
  EXPECT_FALSE(mine.try_to_lead());
  etcd.do_it_with_the_next_lease();
  auto const seen = mine.try_to_lead();
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_TRUE(seen->leads) << seen->leader;
}

TEST_F(leadership_of_late_etcd, completed_attempt_is_recognised_as_its_own) {
  etcd.keep_one();
  EXPECT_FALSE(mine.try_to_lead());
  etcd.do_it_late();
  auto const seen = mine.try_to_lead();
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_TRUE(seen->leads);
  EXPECT_EQ(left, 0);
}

TEST_F(leadership_of_late_etcd, late_election_result_does_not_make_it_leader) {
  etcd.keep_one();
  EXPECT_FALSE(mine.try_to_lead());
  std::this_thread::sleep_for(2s);  // as long as the lease
  etcd.do_it_late();
  auto const seen = mine.try_to_lead();
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_FALSE(seen->leads);
  EXPECT_EQ(seen->leader, "a:1");
  EXPECT_EQ(left, 0);
}

}  // namespace leadership_cases
}  // namespace muster::server::journal::etcd
