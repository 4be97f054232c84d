// A running program of an attempt. Forwards the output by lines, keeps the last lines, and detects
// when the program has exited and its output was read. The attempt owns it and uses it on its
// thread.
#pragma once

#include <sys/types.h>

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "base/process/child.hpp"
#include "base/process/line_splitter.hpp"
#include "launch/output.hpp"
#include "launch/plan.hpp"

namespace muster::launch {

class task_process {
 public:
  /// Maximum line length. Longer lines are split into parts of this size.
  static constexpr std::size_t line_bytes_max = std::size_t{64} << 10;
  static constexpr std::size_t last_lines_max = 10;
  static constexpr std::size_t last_line_bytes_max = 400;

  /// @param finished called once, after ended() and the end of both streams; never during a call to
  ///   this object
  task_process(boost::asio::io_context& io, output& out, role r, std::function<void()> finished);
  /// Called with each line of both streams before it is forwarded. Must be set before start().
  std::function<void(std::string_view)> on_line{};
  /// Starts the program.
  /// @throws std::system_error like start_child
  /// @throws std::runtime_error if the output directory is unusable
  void start();
  /// Takes over a process that was started elsewhere. The parent of the process must be this
  /// process.
  void start(child c);

  role const& of() const { return role_; }
  pid_t pid() const { return pid_; }
  bool started() const { return pid_ != 0; }
  bool running() const { return pid_ != 0 && !ended_; }
  bool finished() const { return finished_; }
  void signal(int number) const;
  /// Handles the exit of the process. Reads the remaining output. If other processes keep the
  /// streams open, reads only for the time `linger`.
  void ended();
  void resume();
  std::vector<std::string> last_errors() const { return last(output::stream::err); }
  std::vector<std::string> last_output() const { return last(output::stream::out); }

 private:
  static constexpr std::chrono::milliseconds linger{100};

  struct reader {
    reader(boost::asio::io_context& io, line_splitter::line_function f)
        : pipe(io), lines(std::move(f), line_bytes_max) {}
    boost::asio::posix::stream_descriptor pipe;
    line_splitter lines;
    std::array<char, std::size_t{16} << 10> buffer;
    bool paused = false;
    bool open = false;
  };

  std::vector<std::string> last(output::stream s) const {
    auto const& lines = last_[static_cast<std::size_t>(s)];
    return {lines.begin(), lines.end()};
  }
  void take(output::stream s, std::string_view line);
  void report_pending_line();
  void read(reader& r);
  void close(reader& r);
  void drain(reader& r);
  void wait_for_rest();
  void check_finished();

  output& output_;
  role role_;
  std::function<void()> on_finished_;
  std::size_t number_ = 0;
  pid_t pid_ = 0;
  bool ended_ = false;
  bool finished_ = false;
  std::deque<std::string> last_[2];
  reader out_, err_;
  boost::asio::steady_timer timer_;
  boost::asio::steady_timer poll_timer_;
  bool polling_ = false;
};

}  // namespace muster::launch
