// A Python process that has imported modules and becomes ranks by fork, which begin without
// importing them again. It runs with the rights of the ranks, and its forks are children of this
// process, which reaps them. Owned by the launcher of ranks; its thread.
//
//   imports ──► ready ──► gone
//      └──────────────────► gone      why_not() says why
//
// It is killed with this process. Whoever has been forked goes on without it.
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

/// A fork that waits. Without let_go() it ends by itself when this is gone.
struct forked_rank {
  child process;
  file_descriptor line;

  /// It runs the program from here on. False: it is dead already, and nothing of the program has
  /// run.
  bool let_go() const;
};

class fork_server {
 public:
  using on_forked = std::function<void(std::optional<forked_rank>)>;  // none: it could not be

  /// Whether there are such modules, and the interpreter, is found out later.
  fork_server(boost::asio::io_context& io, fork_plan plan);
  fork_server(fork_server const&) = delete;
  ~fork_server();

  fork_plan const& plan() const { return plan_; }
  pid_t pid() const { return pid_; }  // 0: there is no process
  /// Empty: it forks, or still imports.
  std::string const& why_not() const { return why_not_; }
  /// It can fork nothing any more, though the same plan may do so again.
  bool was_killed() const { return killed_; }

  /// `settled` is called once it is ready or gone, never from within this call.
  void when_settled(std::function<void()> settled);
  /// Also when it is gone. `done` is never called from within this call. REQUIRES: it has settled;
  /// role.python is set.
  void fork(rank_role const& role, on_forked done);
  /// Nobody waits for anything any more: no callback comes.
  void forget();
  /// Takes note that a child of this process has ended, which is about to be reaped. A process that
  /// an imported module has forked may hold the line of the fork server, which then does not end.
  void ended(pid_t pid);

 private:
  struct request;
  using request_ptr = std::shared_ptr<request>;

  void start();
  void listen();
  void read_output(boost::asio::posix::stream_descriptor& from, line_splitter& lines);
  void settle(std::string why_not);
  void gone(std::string why);
  void gone_by_itself();
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
  boost::asio::steady_timer patience_;  // with its imports
  pid_t pid_ = 0;
  bool settled_ = false, killed_ = false;
  std::string why_not_, last_error_;
  std::function<void()> on_settled_;
  std::deque<request_ptr> waiting_;  // the ranks of an order bound it
  std::set<request_ptr> asked_;
};

}  // namespace muster::launch
