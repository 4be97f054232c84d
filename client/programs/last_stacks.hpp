// Where ranks were that this worker kills: their stacks are taken in the last moments before, all
// at once, told with their ends, and again to each server until it has them forgotten.
//
//   expect(kill at) ──► `lead` before ──┐
//   take_now ───────────────────────────┴► stack_files ──► killed? ──► report
//
// No kill waits for them but one without a grace, `lead` at most. Engine thread; the stacks are
// taken by a thread of its own, as a disk may be slow.
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
  /// What is not written by then is not waited for.
  static constexpr std::chrono::milliseconds patience{220};
  /// Attempts of which stacks are kept. More: those of the oldest go.
  static constexpr std::size_t attempts_max = 16;
  /// Kills that are expected. More: the oldest goes without stacks.
  static constexpr std::size_t expected_max = 4'096;

  using pids = std::map<rank_key, pid_t>;
  using who = std::function<pids()>;  // that run, when it is asked
  using attempt_key = std::pair<std::uint64_t, std::uint32_t>;
  enum class reason { order, lease };

  /// It outlives this.
  explicit last_stacks(stack_files const& files) : files_(files) {}
  last_stacks(last_stacks const&) = delete;

  /// Before all else.
  void begin(coro::engine_context& engine, std::function<void()> wake);
  /// They are killed at this time; of the lease the last one counts.
  void expect(clock::time_point kill, reason why, who ranks);
  /// `then` kills them, called once, maybe from inside.
  void take_now(pids const& ranks, std::function<void()> then);

  /// A rank has ended.
  void ended(rank_key const& key, v1::RankEnded const& how);
  /// Its end is told and taken.
  void forget(rank_key const& key);
  /// Another stream begins; of these attempts something is held.
  void offer(std::set<attempt_key> const& held);
  bool reports() const;
  void report(v1::RankReports& to);
  /// What is being taken is finished with. After the last stream.
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
  coro::engine_context* engine_ = nullptr;  // from begin() on
  std::function<void()> wake_;
  std::unique_ptr<coro::timer> next_;
  std::deque<kill> expected_;
  pids at_once_;  // gathered until those who order have spoken
  std::shared_ptr<batch> at_once_then_;
  std::map<attempt_key, of_attempt> attempts_;
  boost::asio::thread_pool taker_{1};
};

}  // namespace muster
