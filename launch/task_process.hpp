// One running program of an attempt: passes its lines on, remembers the last ones, and knows when
// it has ended and everything it wrote was read. Owned by the attempt; its thread.
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
  /// A longer line comes in pieces of this size, each a line.
  static constexpr std::size_t line_bytes_max = std::size_t{64} << 10;
  /// Kept of each stream, for the summary.
  static constexpr std::size_t last_lines_max = 10;
  static constexpr std::size_t last_line_bytes_max = 400;

  /// `finished` is called once, after ended() and the end of both streams, never from within a
  /// call of this object.
  task_process(boost::asio::io_context& io, output& out, role r, std::function<void()> finished);
  /// Of both streams, before it is passed on. Set before start().
  std::function<void(std::string_view)> on_line{};
  /// Errors: as start_child, std::runtime_error of the output directory.
  void start();
  /// The same with a process that others have started, which this one reaps.
  void start(child c);

  role const& of() const { return role_; }
  pid_t pid() const { return pid_; }
  bool started() const { return pid_ != 0; }
  bool running() const { return pid_ != 0 && !ended_; }
  bool finished() const { return finished_; }
  /// To its whole process group, as long as it runs.
  void signal(int number) const;
  /// It was reaped. What it wrote is read to the end; what others still write to its streams for
  /// `linger` only.
  void ended();
  /// Reads on after the output was full.
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
  /// Passes on lines that have stood for a second without their end.
  void report_standing();
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
  std::deque<std::string> last_[2];  // by stream
  reader out_, err_;
  boost::asio::steady_timer timer_;
  boost::asio::steady_timer look_;  // polls for unfinished lines; runs while there are any
  bool looks_ = false;
};

}  // namespace muster::launch
