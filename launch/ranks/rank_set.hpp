// The ranks of one order to start them, as processes: starts them, or has them forked, looks after
// their ends, kills those whose grace is over. Owned by the launcher of ranks; its thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "launch/output.hpp"
#include "launch/ranks/fork_server.hpp"
#include "launch/ranks/rank_orders.hpp"
#include "launch/ranks/report_line.hpp"
#include "launch/ranks/step_lines.hpp"
#include "launch/task_process.hpp"

namespace muster::launch {

class rank_set {
 public:
  struct callbacks {
    std::function<void(std::uint32_t rank, pid_t pid, std::string const& not_preloaded)> on_started;
    /// What it printed is in its file. The last one comes when nothing is left that any of them
    /// had started.
    std::function<void(rank_end const& end)> on_ended;
    std::function<void()> on_all_ended;
  };

  /// Starts all of them; those that are Python programs by `forks`, which may be null and outlives
  /// this. Errors: std::runtime_error, the directory of logs; then none has begun.
  rank_set(boost::asio::io_context& io, start_order order, callbacks c,
           fork_server* forks = nullptr);
  rank_set(rank_set const&) = delete;
  ~rank_set();

  /// From the reaper, before the zombie is gone; it may be none of these.
  void ended(pid_t pid, int raw_status);
  /// A later order may shorten the grace, never lengthen it.
  void stop(stop_order const& order);
  /// All that run, with the grace of the order to start.
  void stop(int signal);
  /// All that run, at once.
  void kill(bool lease_ran_out);

 private:
  using clock = std::chrono::steady_clock;
  struct rank {
    explicit rank(boost::asio::io_context& io) : killing(io) {}
    rank_end end{};
    std::unique_ptr<rank_role> waits;       // for the fork server
    std::unique_ptr<step_lines> steps;      // null: it says steps itself
    std::unique_ptr<task_process> process;  // null: it was not started
    boost::asio::steady_timer killing;
    clock::time_point kill_at = clock::time_point::max();
    bool over = false;
  };

  std::unique_ptr<task_process> made_of(rank& r, rank_role role);
  void start(rank& r, rank_role role);
  void execute(rank& r, rank_role role);
  void fork(rank& r);
  void forked(rank& r, std::optional<forked_rank> made);
  /// It was forked. False: it is dead, and has not begun.
  bool take(rank& r, forked_rank made);
  /// It has not begun, and does not any more.
  void give_up(rank& r, std::string why);
  void kill_rest() const;
  void over(rank& r);
  void stop(rank& r, int signal, std::chrono::milliseconds grace);

  boost::asio::io_context& io_;
  callbacks const on_;
  std::chrono::milliseconds const grace_;
  output output_;
  fork_server* const forks_;
  std::vector<std::unique_ptr<rank>> ranks_;
  std::uint64_t oom_kills_;  // that are known
  std::size_t told_ = 0;     // of the ranks, whose end was told
};

}  // namespace muster::launch
