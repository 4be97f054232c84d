// Calls to objects, grouped by caller. A repeated call is accepted only once, and its answer is
// kept until the caller has received it. States:
//
//   take ──► waiting ──answer──► answered ──received──► forgotten
//
// Used only on the engine thread; bounded by object_limits.
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
  bool told = false;
  call_answer answer{};
  std::vector<call_name> waits_for{};
};

class call_table {
 public:
  explicit call_table(object_limits const& limits) : limits_(limits) {}

  enum class verdict : std::uint8_t {
    fresh,
    repeated,
    answered,
    early,  ///< the caller will resend the call after earlier calls; see ObjectOrders.begin
    past,   ///< the number is not above the caller's last number, and the call is forgotten
    full,   ///< the caller's limit, or the limit on all bytes, is reached
  };
  verdict take(caller_id who, call_spec const& c);
  /// Registers the number of a call whose object belongs to an earlier server process. Returns
  /// false if the caller is resending earlier calls and will resend this call.
  bool pass(caller_id who, std::uint64_t number);
  /// Returns null if the call is unknown, or if its answer was received.
  call* find(call_name const& n);
  call const* find(call_name const& n) const { return const_cast<call_table*>(this)->find(n); }
  /// Returns the answer to send: a value that exceeds the limit becomes a failure. The answer is
  /// kept until the caller has received it, unless the caller has left. REQUIRES: the call is not
  /// answered.
  call_answer answer(call_name const& n, call_answer a);
  void taken(caller_id who, std::uint64_t number);
  /// Records that the caller has a new stream, on which repeated calls are answered again.
  void caller_reconnected(caller_id who);
  /// Drops the answers of a caller that has left permanently. The caller's unanswered calls are
  /// still executed, or forgotten beyond object_limits::left_max. Returns the objects of forgotten
  /// calls, one entry per call.
  std::vector<object_id> leave(caller_id who);
  /// Forgets the calls of a caller that may return. The caller's last number is kept to recognize
  /// repeated calls. Returns the objects of forgotten calls, one entry per call.
  std::vector<object_id> retire(caller_id who);

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
  std::vector<object_id> drop_calls(caller& c);
  void drop_answered(caller& c);
  void close(object_id object);

  std::map<caller_id, caller> callers_;
  std::unordered_map<object_id, std::size_t> open_;
  std::deque<caller_id> retired_;  // oldest first
  std::size_t bytes_ = 0;
  std::size_t left_ = 0;  // calls of callers that have left
};

}  // namespace muster::core::objects
