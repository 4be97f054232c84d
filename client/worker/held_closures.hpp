// What a worker has and the server may still want an answer for: on its threads, waiting for one,
// or finished while no stream could take the answer. Outlives the streams. Quick functions never
// get here. Bounded by the credits.
//
// Answers are kept until the server has acknowledged them, where it does: what is kept is bounded
// by `full`, beyond which nothing is begun, and by the credits. Where it does not, those that were
// worth the work are kept for a while, as a connection may break with one inside; of too many the
// oldest are forgotten, and would be run again.
//
// Engine thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "client/worker/job.hpp"

namespace muster {

class held_closures {
 public:
  using clock = std::chrono::steady_clock;

  /// False: the closure is held already.
  bool add(std::shared_ptr<job> j);
  /// Whether this very job is held; its result is void otherwise.
  bool holds(job const& j) const;
  /// The answer is on its way, with this number among the stream's.
  void answered(job const& j, clock::time_point now, std::uint64_t number);
  /// The server has so many of the stream's answers on its disk.
  void taken(std::uint64_t count);
  /// Nothing more is to be begun until some are taken.
  bool full() const {
    return acknowledged_ && (answers_.size() >= answers_max || answer_bytes_ >= answer_bytes_max);
  }
  /// Whether any waits for that.
  bool awaits_taking() const { return acknowledged_ && !answers_.empty(); }
  void forget_answers();

  /// A stop request: true when no thread had started it; it is forgotten. Else it will answer by
  /// itself, if it is held.
  bool stop(std::uint64_t closure, std::uint32_t attempt);

  /// A retraction: true when no thread had started it; it is forgotten.
  bool give_back(std::uint64_t closure, std::uint32_t attempt);
  /// Calls `f` with each job that has run for `worth_reporting` by now, once, and for how long.
  template <class F>
  void report_started(clock::time_point now, F f) {
    for (auto& [closure, j] : jobs_) {
      auto const began = j->began.load(std::memory_order_acquire);
      if (j->start_reported || began == clock::time_point{} || now - began < worth_reporting)
        continue;
      j->start_reported = true;
      if (!j->finished) f(*j, now - began);
    }
  }

  /// Calls `f` with each job that has waited for a value for `slot_kept` by now and gives its slot
  /// back, or goes on, and whether it waits. No more than `most` give one back at one time.
  template <class F>
  void tell_waits(clock::time_point now, std::size_t most, F f) {
    auto given = waiting();
    for (auto& [closure, j] : jobs_) {
      auto const since = j->waits_since.load();
      bool const waits = since != clock::time_point{};
      if (j->finished || waits == j->wait_told) continue;
      if (waits && (now - since < slot_kept || given >= most)) continue;
      given += waits ? 1 : 0;
      j->wait_told = waits;
      f(*j, waits);
    }
  }
  /// Those that have given a slot back.
  std::size_t waiting() const;
  /// A server that knows nothing of it: they have not.
  void forget_waits();

  /// The stream broke: what no thread has started is void, it is nobody's loss.
  void drop_unstarted();
  /// Where the last server acknowledged: what the next hello brings again, oldest first, numbered
  /// from 1 on, what has finished meanwhile among it.
  std::vector<std::shared_ptr<job>> answers_again();
  /// What the next hello offers.
  std::vector<std::shared_ptr<job>> offer(clock::time_point now);
  /// The server keeps only these positions of the offer. Returns those among them that have
  /// finished, to be answered (again); running functions that are not wanted are asked to stop.
  /// `acknowledges`: whether the server says what it has taken.
  std::vector<std::shared_ptr<job>> settle(std::span<std::shared_ptr<job> const> offered,
                                           std::span<std::uint32_t const> kept, bool acknowledges);

  /// Everything is void: running functions are asked to stop, their results dropped. What a server
  /// that acknowledges has not taken stays.
  void drop_all();

  bool empty() const { return jobs_.empty(); }
  std::size_t size() const { return jobs_.size(); }

  static constexpr std::size_t answers_max = 1'024;
  static constexpr std::size_t answer_bytes_max = std::size_t{16} << 20;  // together
  static constexpr std::size_t again_max = 4'096;                         // in one hello…
  static constexpr std::size_t again_bytes_max = std::size_t{48} << 20;   // …and together
  static constexpr std::chrono::seconds answers_for{60};
  static constexpr std::chrono::milliseconds worth_keeping{100};  // ran for at least this long
  static constexpr std::chrono::milliseconds worth_reporting{20};
  static constexpr std::chrono::milliseconds slot_kept{2'000};  // by one that waits for a value

 private:
  struct kept_answer {
    std::shared_ptr<job> what;
    clock::time_point since;
    std::uint64_t number = 0;  // among the stream's
  };
  void keep(std::shared_ptr<job> j, clock::time_point now, std::uint64_t number);
  void keep_finished();
  void forget_oldest();
  void forget_answers(clock::time_point now);

  std::unordered_map<std::uint64_t, std::shared_ptr<job>> jobs_;
  std::deque<kept_answer> answers_;  // oldest first
  std::size_t answer_bytes_ = 0;
  bool acknowledged_ = false;
};

}  // namespace muster
