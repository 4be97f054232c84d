#include "base/process/process.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/process/child.hpp"
#include "base/process/line_splitter.hpp"

namespace muster {
namespace {

using steady = std::chrono::steady_clock;

// Uses a memory file, so that the program can read at its own pace.
file_descriptor input_of(std::string const& text) {
  if (text.empty()) return {};
  auto file = opened(memfd_create("stdin", MFD_CLOEXEC), "memfd");
  for (std::size_t done = 0; done < text.size();) {
    auto const n = write(file.get(), text.data() + done, text.size() - done);
    if (n < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "stdin");
    if (n > 0) done += static_cast<std::size_t>(n);
  }
  lseek(file.get(), 0, SEEK_SET);
  return file;
}

// Stores at most twice the limit.
class tail {
 public:
  tail(process_options const& o, process_stream s)
      : max_(o.tail_bytes_max), lines_([&o, s](std::string_view line) {
          if (o.on_line) o.on_line(s, line);
        }) {}

  /// Reads available output. Returns false at the end of the stream.
  bool read_from(file_descriptor& fd) {
    char chunk[16 << 10];
    auto const got = read(fd.get(), chunk, sizeof chunk);
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    std::string_view const bytes(chunk, static_cast<std::size_t>(got));
    kept_ += bytes;
    lines_.add(bytes);
    if (kept_.size() > 2 * max_) kept_.erase(0, kept_.size() - max_);
    return got > 0;
  }
  bool stands() const { return lines_.stands(); }
  void report_pending_line(steady::time_point now) { lines_.report_pending_line(now); }
  std::string text() && {
    lines_.end();
    if (kept_.size() > max_) kept_.erase(0, kept_.size() - max_);
    return std::move(kept_);
  }

 private:
  std::size_t max_;
  std::string kept_;
  line_splitter lines_;
};

int exit_code_of(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

class watch {
 public:
  watch(process_options const& o, pid_t pid, file_descriptor out, file_descriptor err)
      : options_(o),
        pid_(pid),
        streams_{std::move(out), std::move(err)},
        ended_(opened(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)), "pidfd")) {}

  process_end until_end(int stop_fd) {
    while (ended_ || streams_[0] || streams_[1]) {
      pollfd fds[] = {{streams_[0].get(), POLLIN, 0},
                      {streams_[1].get(), POLLIN, 0},
                      {ended_.get(), POLLIN, 0},
                      {termed_ ? -1 : stop_fd, POLLIN, 0}};
      poll(fds, 4, timeout_ms());
      for (auto& t : tails_) t.report_pending_line(steady::now());
      for (int i : {0, 1})
        if (fds[i].revents != 0 && !tails_[i].read_from(streams_[i])) streams_[i].reset();
      if (fds[2].revents != 0) {
        ended_.reset();
        deadline_ = steady::now() + options_.linger;
      }
      if (fds[3].revents != 0) stop();
      if (steady::now() >= deadline_ && !on_deadline()) break;
    }
    if (termed_) kill(-pid_, SIGKILL);  // kills group members that ignored SIGTERM
    return {exit_code_of(pid_), std::move(tails_[0]).text(), std::move(tails_[1]).text()};
  }

 private:
  int timeout_ms() const {
    constexpr int look_every_ms = 100;
    int const most = tails_[0].stands() || tails_[1].stands() ? look_every_ms : -1;
    if (deadline_ == steady::time_point::max()) return most;
    auto const left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - steady::now());
    auto const until = static_cast<int>(std::max<std::int64_t>(0, left.count()));
    return most < 0 ? until : std::min(most, until);
  }
  void stop() {
    termed_ = true;
    kill(-pid_, SIGTERM);
    if (ended_) deadline_ = steady::now() + options_.kill_after;
  }
  // Returns false if nothing remains to wait for.
  bool on_deadline() {
    if (!ended_) return false;
    kill(-pid_, SIGKILL);
    deadline_ = steady::time_point::max();
    return true;
  }

  process_options const& options_;
  pid_t pid_;
  file_descriptor streams_[2];
  tail tails_[2] = {{options_, process_stream::out}, {options_, process_stream::err}};
  file_descriptor ended_;  // readable once the program has ended, then closed
  bool termed_ = false;
  steady::time_point deadline_ = steady::time_point::max();
};

}  // namespace

process_end run_process(process_options const& options, std::stop_token stop) {
  auto const in = input_of(options.standard_input);
  auto const stop_event = opened(eventfd(0, EFD_CLOEXEC), "eventfd");
  child_options start{.argv = options.argv, .environment = current_environment()};
  for (auto const& [name, value] : options.env) start.environment[name] = value;
  start.cwd = options.cwd;
  start.in = in.get();
  auto program = start_child(start);
  std::stop_callback const on_stop(stop, [&stop_event] {
    std::uint64_t const one = 1;
    [[maybe_unused]] auto const written = write(stop_event.get(), &one, sizeof one);
  });
  return watch(options, program.pid, std::move(program.out), std::move(program.err))
      .until_end(stop_event.get());
}

}  // namespace muster
