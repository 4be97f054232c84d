// A Python process that imports modules and then forks ranks, so that the ranks start without
// importing the modules. The server has the permissions of the ranks. The forks are children of
// this process, which reaps them. The rank launcher owns it and uses it on its thread.
//
// States; after an exit, why_not() returns the reason:
//
//   importing ──► ready ──► exited
//       └─────────────────► exited
//
// The server is killed with this process. Forked ranks are independent of it.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/process/line_splitter.hpp"
#include "launch/ranks/fork_plan.hpp"

namespace muster::launch {

/// A fork that is waiting to start. If the object is destroyed before let_go(), the fork exits.
struct forked_rank {
  child process;
  file_descriptor line;

  /// Makes the fork run the program. Returns false if the fork has already exited without running
  /// the program.
  bool let_go() const;
};

class fork_server {
 public:
  using on_forked = std::function<void(std::optional<forked_rank>)>;  // nullopt if the fork failed

  /// Reports errors of the interpreter or the modules through why_not().
  fork_server(boost::asio::io_context& io, fork_plan plan);
  fork_server(fork_server const&) = delete;
  ~fork_server();

  fork_plan const& plan() const { return plan_; }
  pid_t pid() const { return pid_; }
  /// Returns why the server cannot fork; empty while it imports modules or can fork.
  std::string const& why_not() const { return why_not_; }
  /// Returns whether the server was killed. A new server with the same plan may succeed.
  bool was_killed() const { return killed_; }

  /// Calls `settled` once the server is ready or has exited, never within this call.
  void notify_when_ready(std::function<void()> settled);
  /// Forks a rank, or reports failure if the server has exited. `done` is never called within this
  /// call.
  /// @pre The server has settled and role.python is set.
  void fork(rank_role const& role, on_forked done);
  void forget();
  /// Handles the exit of a child that is about to be reaped. The end of the server's pipe does not
  /// prove the exit, because a process forked by a module can keep the pipe open.
  void ended(pid_t pid);

 private:
  struct request;
  using request_ptr = std::shared_ptr<request>;

  void start();
  void listen();
  void read_output(boost::asio::posix::stream_descriptor& from, line_splitter& lines);
  void settle(std::string why_not);
  void gone(std::string why);
  void closed_unexpectedly();
  void send_next();
  void send(request_ptr const& r);
  void await_pid(request_ptr const& r);
  void finish(request_ptr const& r, std::optional<forked_rank> result);

  boost::asio::io_context& io_;
  fork_plan const plan_;
  boost::asio::posix::stream_descriptor line_, out_, err_;
  line_splitter out_lines_, err_lines_;
  std::array<char, 4096> out_buffer_, err_buffer_;
  std::array<char, 1024> answer_{};
  boost::asio::steady_timer patience_;
  pid_t pid_ = 0;
  bool is_ready_ = false, killed_ = false;
  std::string why_not_, last_error_;
  std::function<void()> on_settled_;
  std::deque<request_ptr> waiting_;  // bounded by the number of ranks in an order
  std::set<request_ptr> asked_;
};

}  // namespace muster::launch
