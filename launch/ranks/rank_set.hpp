// The processes of one start order: starts or forks ranks, handles their exits, and kills ranks
// after their grace period. The rank launcher owns it and uses it on its thread.
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
    /// Called when the rank's output is in its file. The last call occurs when all processes that
    /// ranks have started have exited.
    std::function<void(rank_end const& end)> on_ended;
    std::function<void()> on_all_ended;
  };

  /// Starts all ranks. Forks Python programs with `forks`, which can be nullptr and must outlive
  /// this object.
  /// @throws std::runtime_error if the log directory is unusable; no rank has started then
  rank_set(boost::asio::io_context& io, start_order order, callbacks c,
           fork_server* forks = nullptr);
  rank_set(rank_set const&) = delete;
  ~rank_set();

  /// Handles the exit of a process that was not reaped yet. Ignores processes that are not in this
  /// set.
  void ended(pid_t pid, int raw_status);
  /// Signals ranks. A later order can shorten the grace period but not extend it.
  void stop(stop_order const& order);
  /// Stops all ranks, with the grace period of the start order.
  void stop(int signal);
  void kill(bool lease_ran_out);

 private:
  using clock = std::chrono::steady_clock;
  struct rank {
    explicit rank(boost::asio::io_context& io) : killing(io) {}
    rank_end end{};
    std::unique_ptr<rank_role> waits;   // set while the rank is waiting for the fork server
    std::unique_ptr<step_lines> steps;  // nullptr if the program reports steps itself
    std::unique_ptr<task_process> process;
    boost::asio::steady_timer killing;
    clock::time_point kill_at = clock::time_point::max();
    bool over = false;
  };

  std::unique_ptr<task_process> made_of(rank& r, rank_role role);
  void start(rank& r, rank_role role);
  void execute(rank& r, rank_role role);
  void fork(rank& r);
  void forked(rank& r, std::optional<forked_rank> made);
  /// Starts a forked rank. Returns false if the rank has ended without starting.
  bool take(rank& r, forked_rank made);
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
  std::uint64_t oom_kills_;  // kills that were already counted
  std::size_t reported_ends_ = 0;
};

}  // namespace muster::launch
