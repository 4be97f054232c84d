// Calls of objects by caller. Each call is accepted once, even if it is repeated, and its answer is
// kept until its caller has received it.
//
//   take ──► waiting ──answer──► answered ──taken──► forgotten
//
// Owned by object_table; engine thread only. Limits: object_limits.
#pragma once

#include <deque>
#include <map>
#include <unordered_map>
#include <vector>

#include "server/core/api/objects.hpp"

namespace muster::core::objects {

struct call {
  object_id object{};
  std::string method{};
  blob args{};  // kept until the call is answered, so that it can be resent to the worker
  bool answered = false;
  bool told = false;  // the answer was sent on the caller's current stream
  call_answer answer{};
  std::vector<call_name> waits_for{};  // calls it waits for while it executes
};

class call_table {
 public:
  explicit call_table(object_limits const& limits) : limits_(limits) {}

  enum class verdict : std::uint8_t {
    fresh,
    repeated,  ///< unanswered
    answered,  ///< its answer is kept
    early,     ///< earlier calls are being resent, and this one with them; see ObjectOrders.begin
    past,      ///< not above the caller's last number, and forgotten
    full,      ///< the caller's limit, or that of all bytes, is reached
  };
  verdict take(caller_id who, call_spec const& c);
  /// Registers the number of a call of an object of an earlier server process without recording the
  /// call. Returns false if earlier calls are being resent, and this one with them.
  bool pass(caller_id who, std::uint64_t number);
  /// Returns null if the call is unknown, or was answered and taken.
  call* find(call_name const& n);
  call const* find(call_name const& n) const { return const_cast<call_table*>(this)->find(n); }
  /// Records the answer and returns the one to send. A value that exceeds the limit becomes a
  /// failure. The answer is kept until its caller has received it, unless the caller has left.
  /// REQUIRES: the call is not answered.
  call_answer answer(call_name const& n, call_answer a);
  void taken(caller_id who, std::uint64_t number);
  /// Records that the caller has a new stream: repeated calls are answered again, once.
  void caller_reconnected(caller_id who);
  /// Records that the caller has ended for good and drops its answers. Its unanswered calls are
  /// still executed. If too many such calls exist (object_limits::left_max), they are forgotten
  /// instead. Returns the objects of forgotten calls, one entry per call.
  std::vector<object_id> leave(caller_id who);
  /// Forgets the calls of a caller that may return. Its last number is kept to recognize repeated
  /// calls. Returns the objects as leave() does.
  std::vector<object_id> retire(caller_id who);

  /// Returns the number of unanswered calls.
  std::size_t open(object_id object) const {
    auto const it = open_.find(object);
    return it == open_.end() ? 0 : it->second;
  }
  std::size_t bytes() const { return bytes_; }
  std::size_t callers() const { return callers_.size(); }

 private:
  struct caller {
    std::uint64_t last = 0;
    std::unordered_map<std::uint64_t, call> calls{};
    bool left = false;
  };

  object_limits const& limits_;
  /// Returns the objects of unanswered calls, one entry per call.
  std::vector<object_id> drop_calls(caller& c);
  void drop_answered(caller& c);
  void close(object_id object);

  std::map<caller_id, caller> callers_;
  std::unordered_map<object_id, std::size_t> open_;
  std::deque<caller_id> retired_;  // oldest first
  std::size_t bytes_ = 0;          // arguments and answers
  std::size_t left_ = 0;           // calls of callers that have left
};

}  // namespace muster::core::objects
