// A worker's closures for which the server may still need an answer: queued, running, or finished
// while there was no stream. Outlives the streams. Excludes quick functions. The worker's credits
// limit the number of closures.
//
// If the server acknowledges answers, the answers are kept until then, and no closure is started
// beyond the limits of full(). Otherwise, answers of functions that ran for at least
// `worth_keeping` are kept for `answers_for`, because a connection can break while an answer is
// being sent. Beyond the limits, the oldest answers are dropped, and the server would run their
// closures again.
//
// Used only on the engine thread.
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

  /// Returns false if the closure has already been added.
  bool add(std::shared_ptr<job> j);
  /// Returns whether the job is stored. If it is not stored, its result must be dropped.
  bool holds(job const& j) const;
  /// Must be called when the answer is sent; `number` is its number on the stream.
  void answered(job const& j, clock::time_point now, std::uint64_t number);
  /// Must be called when the server has stored the stream's first `count` answers.
  void taken(std::uint64_t count);
  /// Returns whether no closure can be started until answers are acknowledged.
  bool full() const {
    return acknowledged_ && (answers_.size() >= answers_max || answer_bytes_ >= answer_bytes_max);
  }
  bool has_unacknowledged_answers() const { return acknowledged_ && !answers_.empty(); }
  void forget_answers();

  /// If the closure has not started, removes it and returns true. Otherwise, the closure is
  /// answered when it finishes.
  bool stop(std::uint64_t closure, std::uint32_t attempt);

  /// If the closure has not started, removes it and returns true.
  bool give_back(std::uint64_t closure, std::uint32_t attempt);
  /// Calls `f` once for each job that has run for `worth_reporting`, with the time since its start.
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

  /// Calls `f(job, true)` for each job that has waited for a value longer than `slot_kept`, which
  /// releases its slot, and `f(job, false)` for each job that resumes. At most `most` slots are
  /// released at a time.
  template <class F>
  void report_waits(clock::time_point now, std::size_t most, F f) {
    auto given = waiting();
    for (auto& [closure, j] : jobs_) {
      auto const since = j->waits_since.load();
      bool const waits = since != clock::time_point{};
      if (j->finished || waits == j->slot_returned) continue;
      if (waits && (now - since < slot_kept || given >= most)) continue;
      given += waits ? 1 : 0;
      j->slot_returned = waits;
      f(*j, waits);
    }
  }
  std::size_t waiting() const;
  /// Called if the server does not support released slots.
  void clear_waits();

  /// Drops closures that have not started. Called after a broken stream.
  void drop_unstarted();
  /// Returns the unacknowledged answers for the next hello, oldest first, numbered from 1. Includes
  /// jobs that finished without a stream. Returns nothing if the last server did not acknowledge
  /// answers.
  std::vector<std::shared_ptr<job>> answers_for_hello();
  std::vector<std::shared_ptr<job>> offer(clock::time_point now);
  /// Applies the server's answer to offer(). Only the jobs whose indices are in `kept` remain; the
  /// functions of all other jobs are asked to stop. Returns the remaining jobs that have finished,
  /// whose answers must be sent (again). `acknowledges` is true if the server acknowledges answers.
  std::vector<std::shared_ptr<job>> settle(std::span<std::shared_ptr<job> const> offered,
                                           std::span<std::uint32_t const> kept, bool acknowledges);

  /// Asks all functions to stop and drops their results. Keeps answers that the server has yet to
  /// acknowledge.
  void drop_all();

  bool empty() const { return jobs_.empty(); }
  std::size_t size() const { return jobs_.size(); }

  static constexpr std::size_t answers_max = 1'024;
  static constexpr std::size_t answer_bytes_max = std::size_t{16} << 20;  // total bytes
  static constexpr std::size_t again_max = 4'096;                         // number per hello
  static constexpr std::size_t again_bytes_max = std::size_t{48} << 20;   // bytes per hello
  static constexpr std::chrono::seconds answers_for{60};
  static constexpr std::chrono::milliseconds worth_keeping{100};  // minimum run time
  static constexpr std::chrono::milliseconds worth_reporting{20};
  static constexpr std::chrono::milliseconds slot_kept{2'000};  // minimum wait for a value

 private:
  struct kept_answer {
    std::shared_ptr<job> what;
    clock::time_point since;
    std::uint64_t number = 0;
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
