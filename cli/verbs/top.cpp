// muster top: shows the server's totals, tasks, programs and slowest closures, continuously.
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <optional>
#include <thread>

#include "cli/actions.hpp"
#include "cli/durations.hpp"
#include "cli/rest.hpp"
#include "cli/top/frame.hpp"
#include "cli/top/terminal.hpp"

namespace muster::cli {
namespace {

using namespace std::chrono_literals;

struct top_options : server_options {
  std::string cluster = "default";
  duration interval = 1s;
  bool once = false;
};

/// Queries frames at intervals on its own thread, so that keys are handled without waiting for the
/// server.
class asker {
 public:
  asker(top_options const& o, std::function<void()> news)
      : options_(o),
        news_(std::move(news)),
        thread_([this](std::stop_token end) { run_top(end); }) {}

  struct seen {
    std::optional<top::frame> frame;
    top::rates rates;
    std::string away;
    std::optional<command_error> never;  // set if no frame was ever received
  };
  seen now() const {
    std::lock_guard const lock(mutex_);
    return seen_;
  }

 private:
  // Opens a new connection for each frame, so that a broken connection causes no wait.
  void run_top(std::stop_token end) {
    while (!end.stop_requested()) {
      std::optional<top::frame> frame;
      std::optional<command_error> why;
      try {
        rest server(options_.rest);
        frame = top::look(server, options_.cluster);
      } catch (command_error const& e) {
        why = e;
      } catch (std::exception const& e) {
        why = command_error(exit_failed, e.what());
      }
      std::unique_lock lock(mutex_);
      seen_.away = why ? why->what() : "";
      if (frame) seen_.rates.take(*frame);
      if (frame) seen_.frame = std::move(frame);
      if (!seen_.frame) seen_.never = why;
      lock.unlock();
      news_();
      lock.lock();
      over_.wait_for(lock, end, options_.interval, [] { return false; });
    }
  }

  top_options const options_;
  std::function<void()> const news_;
  mutable std::mutex mutex_;
  std::condition_variable_any over_;
  seen seen_;
  std::jthread thread_;
};

int run_once(top_options& o) {
  rest server(o.rest);
  auto const frame = top::look(server, o.cluster);
  if (printed_as_json(o.output, top::to_json(frame))) return exit_ok;
  for (auto const& line : top::lines_of(frame, {}, {.url = server.url(), .away = {}}))
    std::cout << line << '\n';
  return exit_ok;
}

// Exits without joining the thread, because a pending query may take seconds and its answer is not
// needed.
[[noreturn]] void leave(top::terminal& screen, int signal) {
  screen.give_back();
  if (signal != 0) {
    std::signal(signal, SIG_DFL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    ::raise(signal);
    ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  }
  std::_Exit(exit_ok);
}

int run_top(top_options& o) {
  if (o.interval < 100ms)
    throw command_error(exit_usage, "--interval must be at least 100ms: each update sends up to " +
                                        std::to_string(top::jobs_examined + 7) + " requests");
  bool const live = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
  if (o.once || !live || o.output == output_format::json) return run_once(o);
  top::terminal screen;
  asker server(o, [&screen] { screen.wake(); });
  auto sorted = top::order::task;
  for (;;) {
    auto const heard = screen.wait();
    using enum top::terminal::event;
    if (heard.what == stopped) leave(screen, heard.signal);
    if (heard.what == key && (heard.key == 'q' || heard.key == 'Q')) leave(screen, 0);
    if (heard.what == key && heard.key == 's') sorted = top::after(sorted);
    auto const seen = server.now();
    if (!seen.frame && seen.never) {
      screen.give_back();
      throw command_error(*seen.never);
    }
    if (!seen.frame) continue;
    auto const size = screen.measure();
    screen.draw(top::lines_of(*seen.frame, seen.rates,
                              {sorted, size.columns, size.rows, o.rest.url, seen.away}));
  }
}

}  // namespace

void add_top(CLI::App& app, choice& chosen) {
  auto const [verb, o] = add_verb(
      app, chosen, "top", "Watch tasks, programs, rates and the slowest closures, live", run_top);
  add_duration(*verb, "--interval", o->interval, "Time between two updates");
  verb->add_flag("--once", o->once, "Print once and exit (default if stdout is not a terminal)");
  add_cluster_option(*verb, o->cluster);
  add_server_options(*verb, *o);
  verb->footer(
      "Keys: q quits; s sorts the tasks by the next column (task, running, rate, failed). If "
      "the\nserver does not answer, the last numbers remain on screen.\n"
      "Examples:\n"
      "  muster top\n"
      "  muster top --once --output json | jq .overview.closures");
}

}  // namespace muster::cli
