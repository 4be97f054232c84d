// The lease's end is computed from the time of the request, because etcd counts from a later time.
#include "server/journal/etcd/leadership.hpp"

#include <time.h>

#include <limits>

#include "base/text.hpp"
#include "server/journal/etcd/transaction_plan.hpp"

namespace muster::server::journal::etcd {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;

constexpr auto never = std::numeric_limits<std::int64_t>::max();
constexpr auto look_limit = 2s;
constexpr auto resign_limit = 400ms;
constexpr int renewals_per_lease = 8;

// The clock also advances while the process is stopped or the machine is suspended.
microseconds now() {
  timespec t{};
  ::clock_gettime(CLOCK_BOOTTIME, &t);
  return microseconds(std::int64_t{t.tv_sec} * 1'000'000 + t.tv_nsec / 1'000);
}

// Returns when a lease requested at `asked_at` expires, assuming that the rates of two clocks
// differ by less than a tenth.
std::int64_t end_of(microseconds asked_at, std::int64_t seconds) {
  return asked_at.count() + seconds * 1'000'000 - seconds * 1'000'000 / 10;
}

}  // namespace

leadership::leadership(access a, leadership_options o)
    : options_(std::move(o)),
      client_(std::move(a)),
      key_(names{client_.prefix()}.leader()),
      until_us_(never) {}

leadership::~leadership() {
  end_threads();
}

void leadership::end_threads() {
  {
    std::lock_guard const lock(mutex_);
    end_ = true;
  }
  ending_.notify_all();
  client_.give_up();
  for (auto* t : {&renewing_, &watching_})
    if (t->joinable()) t->join();
}

microseconds leadership::left() const {
  auto const until = until_us_.load(std::memory_order_relaxed);
  return until == never ? microseconds::max() : microseconds(until) - now();
}

void leadership::end_process_after_loss() const {
  options_.over("etcd has not renewed the lease in time, so another server may be the leader");
}

muster::result<leadership::seen> leadership::try_to_lead() {
  auto found = look();
  if (!found || found->leads || !found->leader.empty()) return found;
  return grant_and_put();
}

// Also recognises this process's own key, in case the answer to the transaction was lost.
leadership::seen leadership::take(wire::KeyValue const& kv) {
  auto const line = kv.value().find('\n');
  seen s;
  s.leader = kv.value().substr(0, line);
  if (s.leader.empty()) s.leader = "unknown";
  s.leads = lease_ != 0 && kv.lease() == lease_ && in_time();
  if (s.leads) begin({kv.create_revision(), kv.version()});
  return seen_ = s;
}

muster::result<leadership::seen> leadership::look() {
  wire::RangeRequest request;
  request.set_key(key_);
  wire::RangeResponse answer;
  auto const asked =
      client_.ask(look_limit, "for the leader",
                  client_.reading(&member::kv, &wire::KV::Stub::Range, request, answer));
  if (asked.code == code::unavailable)
    return muster::status{
        asked.code,
        client_.asked("for the leader")};  // contains no duration, because the message is repeated
  if (!asked.ok()) return asked;
  revision_ = answer.header().revision();
  if (answer.kvs().empty()) return seen_ = {};
  return take(answer.kvs(0));
}

// If etcd has no space, no server can become the leader, and only a leader can free space.
muster::status leadership::refused(grpc::Status const& s) {
  auto why = client_.in_words(s);
  if (!out_of_space(s)) return why;
  client_.make_space(revision_);
  why.code = code::unavailable;
  return why;
}

// Returns whether the lease is valid by this server's clock. Otherwise, the lease may have expired
// in etcd, and a leader must stop.
bool leadership::in_time() const {
  return now().count() < granted_until_us_;
}

void leadership::revoke() {
  wire::LeaseRevokeRequest request;
  request.set_id(std::exchange(lease_, 0));
  wire::LeaseRevokeResponse answer;
  (void)client_.once(resign_limit,
                     calling(&member::leases, &wire::Lease::Stub::LeaseRevoke, request, answer));
}

muster::result<leadership::seen> leadership::grant_and_put() {
  // An attempt that timed out can still write its key, which would block all servers, including
  // this server.
  if (lease_ != 0 && in_time()) revoke();
  wire::LeaseGrantRequest wanted;
  wanted.set_ttl(options_.lease.count());
  wire::LeaseGrantResponse granted;
  auto const asked_at = now();
  auto s =
      client_.once(1s, calling(&member::leases, &wire::Lease::Stub::LeaseGrant, wanted, granted));
  if (!s.ok()) return refused(s);
  lease_ = granted.id();
  granted_until_us_ = end_of(asked_at, granted.ttl());

  wire::TxnRequest lead;
  auto& compare = *lead.add_compare();
  compare.set_target(wire::Compare::CREATE);
  compare.set_key(key_);
  compare.set_create_revision(0);
  auto made = put(key_, options_.address + "\n" + hex16(options_.self) + "\n");
  made.mutable_request_put()->set_lease(lease_);
  *lead.add_success() = std::move(made);
  lead.add_failure()->mutable_request_range()->set_key(key_);
  wire::TxnResponse answer;
  s = client_.once(1s, calling(&member::kv, &wire::KV::Stub::Txn, lead, answer));
  if (!s.ok()) return refused(s);
  client_.require(answer.header().revision());
  if (!answer.succeeded()) {
    auto const& found = answer.responses(0).response_range();
    return found.kvs().empty() ? seen_ = {} : take(found.kvs(0));
  }
  if (!in_time()) return seen_ = {false, options_.address};
  begin({answer.header().revision(), 1});
  return seen_ = {true, options_.address};
}

void leadership::begin(term t) {
  term_ = t;
  until_us_ = granted_until_us_;
  check();
  watching_ = std::thread([this] { watch(); });
  renewing_ = std::thread([this] { renew_again_and_again(); });
}

void leadership::renew() {
  auto const asked_at = now();
  wire::LeaseKeepAliveRequest request;
  request.set_id(lease_);
  wire::LeaseKeepAliveResponse answer;
  auto const s = client_.once(1s, [&](member& m, grpc::ClientContext& context) {
    auto const stream = m.leases->LeaseKeepAlive(&context);
    if (!stream->Write(request) || !stream->Read(&answer)) {
      auto failed = stream->Finish();
      return failed.ok() ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "no answer") : failed;
    }
    context.TryCancel();
    (void)stream->Finish();
    return grpc::Status::OK;
  });
  if (!s.ok()) return;  // the next renewal uses another member
  if (answer.ttl() <= 0)
    options_.over("the lease has expired in etcd, so another server may be the leader");
  until_us_ = end_of(asked_at, answer.ttl());
}

void leadership::renew_again_and_again() {
  auto const every = std::chrono::milliseconds(options_.lease) / renewals_per_lease;
  std::unique_lock lock(mutex_);
  while (!ending_.wait_for(lock, every, [this] { return end_; })) {
    lock.unlock();
    renew();
    lock.lock();
  }
}

void leadership::watch() {
  std::unique_lock lock(mutex_);
  while (!end_) {
    check();
    ending_.wait_for(lock, left(), [this] { return end_; });
  }
}

void leadership::resign() {
  end_threads();
  if (lease_ == 0) return;
  client_.go_on();
  until_us_ = never;
  seen_ = {};
  revoke();
}

}  // namespace muster::server::journal::etcd
