// What a worker has and the server may still want an answer for: on its threads, waiting for one,
// or finished while no stream could take the answer. Outlives the streams. Quick functions never
// get here. Bounded by the credits; the answers that are kept in case they were lost on the way
// have limits of their own. Engine thread only.
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
  /// A held job has finished and cannot be answered now: kept for the next stream.
  void finished(job& j) { j.finished = true; }
  /// The answer is on its way. Kept for `answers_for` if the work was worth it: nobody
  /// acknowledges answers, and a connection may break with one inside.
  /// Full: the oldest is forgotten, and would be run again.
  void answered(job const& j, clock::time_point now);

  enum class stopped { unknown, asked, dropped };
  /// A stop request: `dropped` had not started and is forgotten; `asked` will answer by itself.
  stopped stop(std::uint64_t closure, std::uint32_t attempt);

  /// A recall: true when no thread had started it; it is forgotten.
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

  /// The stream broke: what no thread has started is void, it is nobody's loss.
  void drop_unstarted();
  /// What the next hello offers.
  std::vector<std::shared_ptr<job>> offer(clock::time_point now);
  /// The server keeps only these positions of the offer. Returns those among them that have
  /// finished, to be answered (again); running functions that are not wanted are asked to stop.
  std::vector<std::shared_ptr<job>> settle(std::span<std::shared_ptr<job> const> offered,
                                           std::span<std::uint32_t const> kept);

  /// Everything is void: running functions are asked to stop, their results dropped.
  void drop_all();

  bool empty() const { return jobs_.empty(); }
  std::size_t size() const { return jobs_.size(); }

  static constexpr std::size_t answers_max = 64;
  static constexpr std::size_t answer_bytes_max = std::size_t{8} << 20;  // together
  static constexpr std::chrono::seconds answers_for{60};
  static constexpr std::chrono::milliseconds worth_keeping{100};  // ran for at least this long
  static constexpr std::chrono::milliseconds worth_reporting{20};

 private:
  struct kept_answer {
    std::shared_ptr<job> what;
    clock::time_point since;
  };
  void forget_answers(clock::time_point now);

  std::unordered_map<std::uint64_t, std::shared_ptr<job>> jobs_;
  std::deque<kept_answer> answers_;  // oldest first
  std::size_t answer_bytes_ = 0;
};

}  // namespace muster
