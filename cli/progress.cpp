#include "cli/progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/text.hpp"
#include "cli/table.hpp"
#include "cli/waiting_reason.hpp"

namespace muster::cli {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

constexpr auto redraw_every = 200ms;
constexpr auto report_every = 5s;
constexpr auto look_every = 1s;  // interval of progress checks without a terminal
constexpr auto poll_max = 20s;   // longest wait for a job without output
constexpr auto rate_window = 5s;
constexpr std::size_t bar_width = 28;

std::string with_label(std::uint64_t n, char const* what) {
  return n == 0 ? std::string() : "  " + with_thousands(n) + " " + what;
}

}  // namespace

job_counts counts_of(json::value const& job) {
  auto const& counts = field_of(job, "counts");
  auto const n = [&](char const* key) { return count_of(counts, key); };
  return {n("blocked") + n("queued"), n("running"), n("succeeded"), n("failed"), n("cancelled")};
}

std::string state_of(json::value const& job) {
  auto const state = text_of(job, "state");
  auto const c = counts_of(job);
  bool const ended = state != "QUEUED" && state != "RUNNING";
  if (ended || c.running > 0) return state;
  if (c.waiting == 0) return "IDLE";
  return state == "QUEUED" ? state : "WAITING";
}

double progress_text::rate(job_counts const& c, time_point now) {
  while (samples_.size() > 1 && samples_.front().at < now - rate_window) samples_.pop_front();
  samples_.push_back({now, c.finished()});
  auto const span = std::chrono::duration<double>(now - samples_.front().at).count();
  if (span < 0.1) return 0;
  return static_cast<double>(c.finished() - samples_.front().finished) / span;
}

std::string progress_text::line(job_counts const& c, time_point now) {
  auto const per_second = rate(c, now);
  auto text = with_thousands(c.finished()) + "/" + with_thousands(c.total());
  text += with_label(c.running, "running") + with_label(c.waiting, "waiting") +
          with_label(c.failed, "failed") + with_label(c.cancelled, "cancelled");
  if (per_second > 0) {
    auto const left = static_cast<double>(c.total() - c.finished()) / per_second;
    text += "  " + with_thousands(static_cast<std::uint64_t>(per_second + 0.5)) + "/s";
    if (left < 1e9)
      text += "  " + rounded(duration(static_cast<std::int64_t>(left * 1e6))) + " left";
  }
  return text;
}

std::string progress_text::bar(job_counts const& c, time_point now) {
  auto const total = c.total();
  auto const filled = total == 0 ? 0 : bar_width * c.finished() / total;
  return "[" + std::string(filled, '#') + std::string(bar_width - filled, '.') + "] " +
         line(c, now);
}

screen::screen(bool quiet) : terminal_(!quiet && ::isatty(STDERR_FILENO) == 1) {}

screen::~screen() {
  clear();
}

// Cuts the text at the terminal's width, because a wrapped line cannot be redrawn.
void screen::show() {
  if (!terminal_ || text_.empty()) return;
  winsize size{};
  bool const known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  auto const line = for_terminal(text_, known ? size.ws_col - 1u : text_.size());
  std::fprintf(stderr, "\r%s\x1b[K", line.c_str());
  std::fflush(stderr);
}

void screen::clear() {
  if (!terminal_ || text_.empty()) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
}

void screen::draw(std::string const& text) {
  std::lock_guard lock(mutex_);
  text_ = text;
  show();
}

void screen::above(std::function<void()> const& print) {
  std::lock_guard lock(mutex_);
  clear();
  print();
  show();
}

command_error too_late(waiting_reason& reason, std::string const& id, duration timeout) {
  auto const why = reason.ask().text;
  return {exit_failed, "job " + id + " is still running after " + to_string(timeout) +
                           (why.empty() ? "" : " (a closure is " + for_terminal(why) + ")") +
                           "; wait with 'muster fetch " + id + "', stop it with 'muster cancel " +
                           id + "'"};
}

json::value wait_for_job(rest& server, std::string const& id, wait_limit const& limit, bool quiet) {
  screen shown(quiet);
  bool const terminal = shown.drawing();
  auto const path = "/api/v1/jobs/" + percent_encoded(id);
  duration const pause = quiet ? poll_max : terminal ? duration(redraw_every) : look_every;
  progress_text text;
  waiting_reason reason(server, id, steady::now());
  auto next_report = steady::now() + report_every;
  for (;;) {
    auto const left = std::chrono::floor<duration>(limit.end - steady::now());
    auto const wait = std::clamp(left, duration(1ms), pause);
    auto const joined = server.get(path + "/join?timeout=" + to_string(wait), wait + 30s);
    if (is_true(joined, "done")) return server.get(path);
    if (limit.is_over()) throw too_late(reason, id, *limit.timeout);
    if (quiet) continue;
    auto const counts = counts_of(joined);
    auto const now = steady::now();
    if (auto const news = reason.news(counts, now); !news.empty())
      shown.above([&] { std::fprintf(stderr, "%s\n", for_terminal(news).c_str()); });
    if (terminal) shown.draw(text.bar(counts, now));
    if (terminal || now < next_report) continue;
    next_report = now + report_every;
    std::fprintf(stderr, "%s\n", text.line(counts, now).c_str());
  }
}

}  // namespace muster::cli
