#include "client/worker/report_buffer.hpp"

#include <algorithm>
#include <cmath>

#include "base/overwritten.hpp"
#include "base/utf8.hpp"

namespace muster {
namespace {

std::int64_t unix_ms_now() {
  auto const now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

// Returns valid UTF-8, as the server requires, truncated at a character boundary.
std::string clean(std::string_view text, std::size_t bytes_max) {
  auto const whole = text.size();
  if (whole > bytes_max) {
    text = text.substr(0, bytes_max);
    for (int i = 0; i < 3 && !text.empty() && (text.back() & 0xC0) == 0x80; ++i)
      text.remove_suffix(1);
    if (!text.empty() && (text.back() & 0x80) != 0) text.remove_suffix(1);
  }
  auto out = to_utf8(text);
  if (text.size() < whole) out += " … " + std::to_string(whole - text.size()) + " bytes cut";
  return out;
}

std::size_t cost(std::string_view text) {
  return text.size() + report_limits::line_overhead;
}

v1::LogLevel to_wire(log_level l) {
  static constexpr v1::LogLevel levels[] = {v1::LOG_DEBUG, v1::LOG_INFO, v1::LOG_WARNING,
                                            v1::LOG_ERROR};
  return levels[static_cast<std::size_t>(l)];
}

}  // namespace

report_buffer::report_buffer(std::function<void()> wake, report_limits limits)
    : wake_(std::move(wake)), limits_(limits) {}

void report_buffer::log(origin const& of, v1::LogLevel level, std::string_view text) {
  if (text.empty()) text = "\n";
  bool tell = false;
  {
    std::lock_guard lock(mutex_);
    while (!text.empty()) {
      auto const end = text.find('\n');
      bool const unfinished = end == std::string_view::npos && text.ends_with('\r');
      if (add(of, level, overwritten(text.substr(0, end)), unfinished)) tell = true;
      text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    }
    tell = tell && !std::exchange(lines_signalled_, true);
  }
  if (tell) wake_();
}

bool report_buffer::add(origin const& of, v1::LogLevel level, std::string_view text,
                        bool unfinished) {
  auto& a = accounts_[of.closure];
  a.of = of;
  has_reports_ = true;
  auto const most = cost(text.substr(0, limits_.line_bytes_max));
  if (a.bytes + most > limits_.closure_bytes_max || bytes_ + most > limits_.bytes_max) {
    ++a.dropped;
    return false;
  }
  line l{of, level, unix_ms_now(), clean(text, limits_.line_bytes_max)};
  if (unfinished) l.text += '\r';
  if (a.dropped > 0) {
    lines_.push_back(dropped_mark(a));
    bytes_ += cost(lines_.back().text);
  }
  a.bytes += cost(l.text), bytes_ += cost(l.text);
  lines_.push_back(std::move(l));
  return true;
}

void report_buffer::progress(origin const& of, double fraction, std::string_view text) {
  bool tell = false;
  {
    std::lock_guard lock(mutex_);
    auto& p = progress_[of.closure];
    p.of = of;
    p.fraction = std::isfinite(fraction) ? std::clamp(fraction, 0.0, 1.0) : 0;
    p.text = clean(text.substr(0, text.find('\n')), limits_.progress_text_bytes_max);
    has_reports_ = true;
    tell = !std::exchange(progress_scheduled_, true);
  }
  if (tell) wake_();
}

report_buffer::line report_buffer::dropped_mark(account& a) const {
  auto const n = std::exchange(a.dropped, 0);
  line mark{a.of, v1::LOG_DROPPED, unix_ms_now(),
            "… " + std::to_string(n) + (n == 1 ? " line dropped" : " lines dropped")};
  a.bytes += cost(mark.text);
  return mark;
}

void report_buffer::open() {
  std::lock_guard lock(mutex_);
  bytes_ = 0;
  for (auto& [closure, a] : accounts_) a.bytes = 0;
  for (auto const& l : lines_) {
    accounts_[l.of.closure].bytes += cost(l.text);
    bytes_ += cost(l.text);
  }
  std::erase_if(accounts_, [](auto const& a) { return a.second.bytes + a.second.dropped == 0; });
  progress_due_ = {};
  lines_signalled_ = progress_scheduled_ = false;
  has_reports_ = !lines_.empty() || !progress_.empty() || !accounts_.empty();
}

void report_buffer::hand_over(line&& l, outbox& to) {
  auto& m = to.add_entry(l.text.size() + 40);
  m.add_log_closure(l.of.closure);
  m.add_log_attempt(l.of.attempt);
  m.add_log_level(l.level);
  m.add_log_time_ms(l.time_ms);
  m.add_log_text(std::move(l.text));
}

void report_buffer::hand_over(latest&& p, outbox& to) {
  auto& m = to.add_entry(p.text.size() + 40);
  m.add_progress_closure(p.of.closure);
  m.add_progress_attempt(p.of.attempt);
  m.add_progress_fraction(p.fraction);
  m.add_progress_text(std::move(p.text));
}

// Dropped lines are newer than the stored lines.
void report_buffer::hand_over_lines(outbox& to) {
  lines_signalled_ = false;
  for (auto& l : lines_) hand_over(std::move(l), to);
  lines_.clear();
  for (auto& [closure, a] : accounts_) {
    if (a.dropped == 0) continue;
    auto mark = dropped_mark(a);
    bytes_ += cost(mark.text);
    hand_over(std::move(mark), to);
  }
}

std::optional<report_buffer::clock::time_point> report_buffer::drain(outbox& to,
                                                                     clock::time_point now) {
  std::lock_guard lock(mutex_);
  hand_over_lines(to);
  if (progress_.empty()) {
    progress_scheduled_ = false;
    return {};
  }
  if (now < progress_due_) return progress_due_;
  for (auto& [closure, p] : progress_) hand_over(std::move(p), to);
  progress_.clear();
  progress_scheduled_ = false;
  progress_due_ = now + limits_.progress_every;
  return {};
}

void report_buffer::finish(origin const& of, outbox& to) {
  if (!has_reports_) return;
  std::lock_guard lock(mutex_);
  hand_over_lines(to);
  if (auto const p = progress_.find(of.closure); p != progress_.end()) {
    hand_over(std::move(p->second), to);
    progress_.erase(p);
  }
  has_reports_ = !progress_.empty() || !accounts_.empty();
}

void report_buffer::sent(v1::WorkerMessage const& m) {
  if (m.log_closure_size() == 0) return;
  std::lock_guard lock(mutex_);
  for (int i = 0; i < m.log_closure_size(); ++i) {
    auto const a = accounts_.find(m.log_closure(i));
    if (a == accounts_.end()) continue;
    auto const bytes = std::min(cost(m.log_text(i)), a->second.bytes);
    a->second.bytes -= bytes;
    bytes_ -= std::min(bytes, bytes_);
    if (a->second.bytes == 0 && a->second.dropped == 0) accounts_.erase(a);
  }
}

void closure_reporter::log(log_level level, std::string_view text) {
  to_.log(of_, to_wire(level), text);
}

void closure_reporter::output(output_stream from, std::string_view text) {
  to_.log(of_, from == output_stream::standard_output ? v1::LOG_STDOUT : v1::LOG_STDERR, text);
}

void closure_reporter::progress(double fraction, std::string_view text) {
  to_.progress(of_, fraction, text);
}

}  // namespace muster
