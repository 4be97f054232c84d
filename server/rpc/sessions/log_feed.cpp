#include "server/rpc/sessions/log_feed.hpp"

#include <algorithm>
#include <utility>

namespace muster::server {
namespace {

constexpr std::size_t line_bytes = 64;

}  // namespace

log_feed::log_feed(coro::engine_context& engine, hub& h, core::session_id session,
                   std::uint64_t after, std::function<void()> wake)
    : hub_(&h), session_(session), last_sent_(after), wake_(std::move(wake)), next_window_(engine) {
  // Lines from an earlier server process are lost, and their numbers are unrelated to the new
  // numbers.
  if (last_sent_ > h.logs().newest(session)) last_sent_ = 0;
}

bool log_feed::ready() {
  if (!hub_ || waiting_ || next_window_.pending()) return false;
  if (clock::now() >= window_end_) {
    window_end_ = clock::now() + window;
    lines_left_ = window_lines_max;
    bytes_left_ = window_bytes_max;
  }
  auto const page = hub_->logs().after({session_, {}}, last_sent_, 1);
  if (page.lines.empty()) {
    wait_for_lines();
    return false;
  }
  if (lines_left_ > 0 && page.lines.front().text.size() + line_bytes <= bytes_left_) return true;
  next_window_.call_at(window_end_, [this] { wake_(); });
  return false;
}

void log_feed::fill(v1::SessionResponse& to) {
  auto const page = hub_->logs().after({session_, {}}, last_sent_, lines_left_);
  for (auto const& line : page.lines) {
    auto const bytes = line.text.size() + line_bytes;
    if (bytes > bytes_left_) break;
    bytes_left_ -= bytes, --lines_left_;
    to_wire(line, hub_->logs().name_of(line.closure), *to.add_log());
    last_sent_ = line.seq;
  }
  to.set_log_last(hub_->logs().newest(session_));
}

void log_feed::finish(v1::SessionResponse& to) {
  if (!hub_) return;
  lines_left_ = window_lines_max;
  bytes_left_ = window_bytes_max;
  fill(to);
}

void log_feed::wait_for_lines() {
  waiting_ = hub_->logs().wait({session_, {}}, [this] { on_line(); });
}

void log_feed::on_line() {
  waiting_.reset();
  wake_();
}

void log_feed::stop_waiting() {
  if (hub_ && waiting_) hub_->logs().forget(*std::exchange(waiting_, std::nullopt));
}

void to_wire(log_line const& line, std::string_view function, v1::LogLine& to) {
  using std::chrono::duration_cast;
  using std::chrono::milliseconds;
  to.set_number(line.seq);
  to.set_closure(core::raw(line.closure));
  to.set_attempt(line.attempt);
  to.set_level(static_cast<v1::LogLevel>(line.level));
  to.set_time_ms(duration_cast<milliseconds>(line.at.time_since_epoch()).count());
  to.set_text(line.text);
  if (line.worker) to.set_worker(*line.worker);
  to.set_function(function.data(), function.size());
}

}  // namespace muster::server
