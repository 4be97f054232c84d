// Samples the stacks of ranks shortly before this worker kills them. The stacks are reported after
// the ranks' exits, and again to each new server, until the server orders the worker to forget the
// ranks. Stages:
//
//     expect(kill at) ──► `lead` before ──┐
//     take_now ───────────────────────────┴► stack_files ──► killed? ──► report
//
// Only a kill without a grace period waits for the stacks, for at most `lead`. Used only on the
// engine thread; a separate thread samples, because the disk can be slow.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "client/programs/rank_table.hpp"
#include "client/programs/stack_files.hpp"
#include "coro/timer_queue.hpp"

namespace muster {

class last_stacks {
 public:
  using clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds lead{300};
  /// Maximum time to write stacks; later stacks are dropped.
  static constexpr std::chrono::milliseconds patience{220};
  /// Maximum number of attempts whose stacks are kept; beyond this number, the oldest stacks are
  /// dropped.
  static constexpr std::size_t attempts_max = 16;
  /// Maximum number of expected kills; beyond this number, the oldest kill is dropped and not
  /// sampled.
  static constexpr std::size_t expected_max = 4'096;

  using pids = std::map<rank_key, pid_t>;
  using who = std::function<pids()>;  // returns the ranks running at that time
  using attempt_key = std::pair<std::uint64_t, std::uint32_t>;
  enum class reason { order, lease };

  /// `files` must outlive this object.
  explicit last_stacks(stack_files const& files) : files_(files) {}
  last_stacks(last_stacks const&) = delete;

  /// Must be called first.
  void begin(coro::engine_context& engine, std::function<void()> wake);
  /// Samples at `lead` before `kill`. A kill for reason::lease replaces the previous kill for this
  /// reason.
  void expect(clock::time_point kill, reason why, who ranks);
  /// Samples `ranks`, then calls `then` once, after at most `lead`. Can call `then` before
  /// returning.
  void take_now(pids const& ranks, std::function<void()> then);

  void ended(rank_key const& key, v1::RankEnded const& how);
  /// Called when the server has stored the rank's exit.
  void forget(rank_key const& key);
  /// Prepares the reports for a new stream. `held` contains the attempts whose ranks the worker
  /// holds.
  void offer(std::set<attempt_key> const& held);
  bool reports() const;
  void report(v1::RankReports& to);
  /// Waits for sampling to finish. Must be called after the last stream.
  void close() { taker_.join(); }

 private:
  struct kill {
    clock::time_point at;
    reason why;
    who ranks;
  };
  struct of_attempt {
    std::map<std::uint32_t, v1::RankStack> taken;
    std::set<std::uint32_t> killed, untold;
  };
  struct batch {
    explicit batch(coro::engine_context& engine) : limit(engine) {}
    std::vector<std::function<void()>> then;
    coro::timer limit;
  };

  void arm();
  void look();
  void take(pids const& ranks, std::shared_ptr<batch> const& kills);
  void took(std::vector<rank_key> const& ranks, v1::RankStacks const& stacks);
  static void end(batch& b);

  stack_files const& files_;
  coro::engine_context* engine_ = nullptr;
  std::function<void()> wake_;
  std::unique_ptr<coro::timer> next_;
  std::deque<kill> expected_;
  pids sampling_now_;  // ranks sampled together, with one wait for all callers
  std::shared_ptr<batch> sampling_now_callbacks_;
  std::map<attempt_key, of_attempt> attempts_;
  boost::asio::thread_pool taker_{1};
};

}  // namespace muster
