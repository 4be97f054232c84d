// Calls of objects by who has made them: each is taken once, however often it comes, and its answer
// is kept until its caller has it.
//
//   take ──► waits ──answer──► kept ──taken──► forgotten
//
// Knows objects by number alone. Owned by object_table; engine thread only. Limits: object_limits.
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
  blob args{};  // until it is answered: its worker may have to be told again
  bool answered = false;
  bool told = false;  // on its caller's stream of now
  call_answer answer{};
  std::vector<call_name> waits_for{};  // whose answers it waits for, while it is executed
};

class call_table {
 public:
  explicit call_table(object_limits const& limits) : limits_(limits) {}

  enum class verdict : std::uint8_t {
    fresh,     ///< it was taken
    repeated,  ///< it waits for its answer
    answered,  ///< and the answer is kept
    early,     ///< those before it are on their way again, and it with them: see ObjectOrders.begin
    past,      ///< not known any more, and not above the last
    full,      ///< its caller has too many, or all have too much
  };
  verdict take(caller_id who, call_spec const& c);
  /// A call of what an earlier process had, which is not taken. False: those before it are on their
  /// way again, and it with them.
  bool pass(caller_id who, std::uint64_t number);
  /// Null: it is not known, or has been answered and taken.
  call* find(call_name const& n);
  call const* find(call_name const& n) const { return const_cast<call_table*>(this)->find(n); }
  /// REQUIRES: it waits. The answer is kept until its caller has it, unless that has left. A value
  /// for which there is no room becomes a failure. What is to be said.
  call_answer answer(call_name const& n, call_answer a);
  void taken(caller_id who, std::uint64_t number);
  /// Its caller has another stream: what it asks for again it is told again, once.
  void listens_anew(caller_id who);
  /// It is gone for good: nothing more comes of it, answers are for nobody. What it has asked of
  /// objects that are still there is executed all the same, also where it has not begun, unless
  /// there is too much of that: then calls are forgotten. Their objects, one for each of these.
  std::vector<object_id> leave(caller_id who);
  /// It may come back: its calls are forgotten, but known not to be new should they come again.
  /// Their objects, as of leave().
  std::vector<object_id> retire(caller_id who);

  /// Calls of the object that are not answered.
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
  /// The objects of those that waited.
  std::vector<object_id> drop_calls(caller& c);
  void drop_answered(caller& c);
  void close(object_id object);

  std::map<caller_id, caller> callers_;
  std::unordered_map<object_id, std::size_t> open_;
  std::deque<caller_id> retired_;  // oldest first
  std::size_t bytes_ = 0;          // of arguments and answers
  std::size_t left_ = 0;           // calls of those that have left
};

}  // namespace muster::core::objects
