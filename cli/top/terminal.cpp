// Uses only escape sequences that all current terminals support (ECMA-48, and xterm's alternate
// screen).
#include "cli/top/terminal.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <system_error>

namespace muster::cli::top {
namespace {

constexpr int all_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT, SIGWINCH};

void put(std::string const& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace

terminal::terminal() {
  sigset_t set;
  sigemptyset(&set);
  for (int const s : all_signals) sigaddset(&set, s);
  ::pthread_sigmask(SIG_BLOCK, &set, &before_);
  signals_ = opened(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), "signalfd");
  woken_ = opened(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd");
  if (::tcgetattr(STDIN_FILENO, &settings_) != 0)
    throw std::system_error(errno, std::generic_category(), "the terminal");
  take();
}

terminal::~terminal() {
  give_back();
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void terminal::take() {
  auto raw = settings_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
  put("\x1b[?1049h\x1b[?25l");
  taken_ = true;
}

void terminal::give_back() {
  if (!taken_) return;
  taken_ = false;
  put("\x1b[?25h\x1b[?1049l");
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &settings_);
}

void terminal::wake() {
  std::uint64_t const one = 1;
  [[maybe_unused]] auto const n = ::write(woken_.get(), &one, sizeof one);
}

terminal::heard terminal::read_signal() {
  signalfd_siginfo info{};
  if (::read(signals_.get(), &info, sizeof info) != sizeof info) return {};
  auto const signal = static_cast<int>(info.ssi_signo);
  if (signal == SIGTSTP) {
    give_back();
    ::raise(SIGSTOP);
    take();
  }
  bool const stops = signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
  return {stops ? event::stopped : event::redraw, 0, stops ? signal : 0};
}

terminal::heard terminal::wait() {
  pollfd all[] = {
      {signals_.get(), POLLIN, 0}, {woken_.get(), POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
  ::poll(all, 3, -1);
  if (all[0].revents != 0) return read_signal();
  if (all[1].revents != 0) {
    std::uint64_t n = 0;
    [[maybe_unused]] auto const read = ::read(woken_.get(), &n, sizeof n);
    return {};
  }
  char key = 0;
  if (::read(STDIN_FILENO, &key, 1) == 1) return {event::key, key, 0};
  return {event::stopped, 0, SIGHUP};
}

terminal::size terminal::measure() const {
  winsize w{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) != 0 || w.ws_col == 0 || w.ws_row == 0) return {};
  return {w.ws_col, w.ws_row};
}

void terminal::draw(std::vector<std::string> const& lines) {
  std::string text = "\x1b[H";
  for (std::size_t i = 0; i < lines.size(); ++i)
    text += (i > 0 ? "\r\n" : "") + lines[i] + "\x1b[K";
  put(text + "\x1b[J");
}

}  // namespace muster::cli::top
