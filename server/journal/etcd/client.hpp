// Calls to an etcd cluster. Tries the cluster's members in turn until a member answers. Used by one
// thread at a time, except for functions that stop calls.
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

/// Address and credentials, which are never logged. The certificates are in PEM format.
struct access {
  address where;
  std::string password;
  std::string authorities;  ///< the CA certificates; if empty, the system's CAs
  std::string certificate, key;
};

struct member {
  std::string host;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<wire::KV::Stub> kv;
  std::unique_ptr<wire::Lease::Stub> leases;
  std::unique_ptr<wire::Maintenance::Stub> maintenance;
  std::unique_ptr<wire::Auth::Stub> auth;
  std::string trouble = "not asked";  ///< error of the last call; empty after success
};

/// The code RESOURCE_EXHAUSTED can also mean "too many requests", which is temporary.
bool out_of_space(grpc::Status const& s);
/// Returns whether the error is temporary. The call may have been executed.
bool is_transient(grpc::Status const& s);

using attempt = std::function<grpc::Status(member&, grpc::ClientContext&)>;

/// @pre `request` and `answer` must outlive the attempts.
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

  /// Calls the current member once. If the error is temporary, the next call uses the next member.
  grpc::Status once(milliseconds limit, attempt const& f);
  /// Repeats a call until it succeeds, fails permanently, or times out. The call must be safe to
  /// repeat. The error contains `what`, the duration and each member's answer.
  muster::status ask(milliseconds limit, std::string const& what, attempt const& f);
  /// Returns "asked WHAT: host (why not), host (why not)".
  std::string asked(std::string const& what) const;
  /// Wraps a read that a decision depends on. Rejects answers of a revision before `required()`, so
  /// that `ask` tries the next member. An accepted answer raises `required()` to its revision.
  /// @pre `request` and `answer` must outlive the attempts.
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
  /// Returns the oldest revision that `reading` accepts. Never decreases.
  std::int64_t required() const { return required_; }
  void require(std::int64_t revision) { required_ = std::max(required_, revision); }
  /// Raises `required()` to a revision that includes all writes acknowledged before the call. For
  /// this, the members must agree on a log entry that changes no data; this is possible even if
  /// etcd has no space.
  muster::status require_all_acknowledged(milliseconds limit, std::string const& what);
  void each(milliseconds limit, attempt const& f);
  /// Runs the transactions concurrently on the current member.
  std::vector<grpc::Status> transact(milliseconds limit, std::vector<wire::TxnRequest> const& all,
                                     std::vector<wire::TxnResponse>& answers);
  /// Frees space when etcd's quota is exhausted: drops the history before this revision,
  /// defragments the members, and clears the alarm. Runs at most once every ten seconds. Skips
  /// steps for which the user lacks permission.
  void make_space(std::int64_t revision);
  muster::status in_words(grpc::Status const& s) const;
  std::string const& prefix() const { return access_.where.prefix; }

  // The following functions are thread-safe.
  /// Stops the running calls. All later calls immediately fail with CANCELLED.
  void give_up();
  bool gave_up() const { return stopped_; }
  /// Gives up if etcd does not answer within `patience` of the first hurry() call. Called
  /// repeatedly while another thread waits for the caller.
  void hurry(milliseconds patience);
  /// Allows calls again after give_up().
  /// @pre No call is running.
  void go_on() { stopped_ = false; }

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
  std::size_t at_ = 0;
  std::size_t last_ = 0;
  std::string token_;
  clock::time_point space_made_{};
  std::int64_t required_ = 0;

  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
  std::vector<grpc::ClientContext*> running_;  // guarded by mutex_, as are the following members
  std::optional<clock::time_point> waiting_since_;
  std::optional<clock::time_point> hurried_at_;
};

}  // namespace muster::server::journal::etcd
