// Calls to a cluster of etcd: one address after the other until one answers, each call with a
// deadline, with a token when there is a user. One thread at a time, but for what breaks calls off.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "etcd/rpc.grpc.pb.h"
#include "server/journal/etcd/address.hpp"

namespace muster::server::journal::etcd {

namespace wire = etcdserverpb;

/// Whom to ask, and as whom. Texts of PEM files; nothing of it is logged.
struct access {
  address where;
  std::string password;
  std::string authorities;  ///< empty: those of the system
  std::string certificate, key;
};

/// A member of the cluster, as gRPC knows it.
struct member {
  std::string host;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<wire::KV::Stub> kv;
  std::unique_ptr<wire::Lease::Stub> leases;
  std::unique_ptr<wire::Maintenance::Stub> maintenance;
  std::unique_ptr<wire::Auth::Stub> auth;
  std::string trouble = "not asked";  ///< what came of the last call; empty: an answer
};

/// What etcd says when its quota is used up, and nothing else: RESOURCE_EXHAUSTED is also "too many
/// requests", which passes.
bool out_of_space(grpc::Status const& s);
/// It may have been done or not, or would be done by another member or later.
bool may_pass(grpc::Status const& s);

using attempt = std::function<grpc::Status(member&, grpc::ClientContext&)>;

/// One call of a stub that the members have. REQUIRES: both outlive the attempts.
template <class Stub, class Request, class Answer>
attempt calling(std::unique_ptr<Stub> member::*stub,
                grpc::Status (Stub::*call)(grpc::ClientContext*, Request const&, Answer*),
                Request const& request, Answer& answer) {
  return [=, &request, &answer](member& m, grpc::ClientContext& context) {
    return ((m.*stub).get()->*call)(&context, request, &answer);
  };
}

class client {
 public:
  using milliseconds = std::chrono::milliseconds;

  explicit client(access a);

  /// Once, by the member of the moment; after an error that may pass the next call asks the next.
  grpc::Status once(milliseconds limit, attempt const& f);
  /// Again and again until it is answered, or refused for good, or the time is over. For calls that
  /// may be done twice. `what` is for people: an error says it, how long, and what each said.
  muster::status ask(milliseconds limit, std::string const& what, attempt const& f);
  /// "asked WHAT: host (why not), host (why not)"
  std::string asked(std::string const& what) const;
  /// A read that a decision depends on. Rejects the answer of a member that is behind `required()`,
  /// so that `ask` tries the next member; raises `required()` to the revision of an accepted
  /// answer. REQUIRES: request and answer outlive the attempts.
  template <class Stub, class Request, class Answer>
  attempt reading(std::unique_ptr<Stub> member::*stub,
                  grpc::Status (Stub::*call)(grpc::ClientContext*, Request const&, Answer*),
                  Request const& request, Answer& answer) {
    return [this, asked = calling(stub, call, request, answer), &answer](
               member& m, grpc::ClientContext& context) {
      auto const s = asked(m, context);
      return s.ok() ? judge(answer.header().revision()) : s;
    };
  }
  /// The oldest revision of etcd that an answer to `reading` can have. Never falls.
  std::int64_t required() const { return required_; }
  void require(std::int64_t revision) { required_ = std::max(required_, revision); }
  /// Raises `required()` to a revision that contains every write acknowledged before the call: a
  /// member answers only after it has applied an entry that the members agreed on. Changes nothing
  /// in etcd, and works while etcd is out of space.
  muster::status require_all_acknowledged(milliseconds limit, std::string const& what);
  /// Of every member.
  void each(milliseconds limit, attempt const& f);
  /// All of them at one time by the member of the moment; one status each.
  std::vector<grpc::Status> transact(milliseconds limit, std::vector<wire::TxnRequest> const& all,
                                     std::vector<wire::TxnResponse>& answers);
  /// For an etcd that takes nothing any more: drops its history up to this revision, gives the
  /// holes of its files back, member by member, and takes the alarm off; every ten seconds at most.
  /// What etcd does not let this user do stays undone.
  void make_space(std::int64_t revision);
  /// "host: what it said".
  muster::status in_words(grpc::Status const& s) const;
  std::string const& prefix() const { return access_.where.prefix; }

  // Any thread.
  /// Breaks off what is under way: from now on every call fails at once with CANCELLED.
  void give_up();
  bool gave_up() const { return over_; }
  /// Called again and again by who waits for the one that calls: gives up when nothing has been
  /// answered for so long, counted from the first of these calls.
  void hurry(milliseconds patience);
  /// REQUIRES: nobody calls.
  void go_on() { over_ = false; }

 private:
  using clock = std::chrono::steady_clock;

  grpc::Status judge(std::int64_t revision);
  void connect(member& m, milliseconds limit);
  grpc::Status call(member& m, milliseconds limit, attempt const& f);
  void begin(grpc::ClientContext* context);
  void end(grpc::ClientContext* context);
  void heard(grpc::Status const& s);
  grpc::Status with_token(member& m, milliseconds limit, attempt const& f);
  grpc::Status authenticate(member& m, milliseconds limit);
  void prepare(grpc::ClientContext& context, milliseconds limit) const;

  access const access_;
  std::vector<member> members_;
  std::size_t at_ = 0;    // of members_: who is asked
  std::size_t last_ = 0;  // who was
  std::string token_;
  clock::time_point space_made_{};
  std::int64_t required_ = 0;

  std::atomic<bool> over_ = false;
  std::mutex mutex_;
  std::vector<grpc::ClientContext*> running_;       // under mutex_, as all below
  std::optional<clock::time_point> waiting_since_;  // for any answer
  std::optional<clock::time_point> hurried_at_;
};

}  // namespace muster::server::journal::etcd
