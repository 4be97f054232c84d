#include "launch/task_process.hpp"

#include <signal.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>

namespace muster::launch {

namespace asio = boost::asio;
using boost::system::error_code;

task_process::task_process(asio::io_context& io, output& out, role r,
                           std::function<void()> finished)
    : output_(out),
      role_(std::move(r)),
      on_finished_(std::move(finished)),
      out_(io, [this](std::string_view line) { take(output::stream::out, line); }),
      err_(io, [this](std::string_view line) { take(output::stream::err, line); }),
      timer_(io),
      poll_timer_(io) {}

void task_process::start() {
  number_ = output_.add_task(role_.name);
  start(start_child({.argv = role_.argv,
                     .environment = role_.environment,
                     .cwd = role_.cwd,
                     .user = role_.user,
                     .dies_with_thread = true,
                     .keeps_ignored_signals = true}));
}

void task_process::start(child c) {
  number_ = output_.add_task(role_.name);
  pid_ = c.pid;
  out_.pipe.assign(c.out.release());
  err_.pipe.assign(c.err.release());
  for (auto* r : {&out_, &err_}) {
    r->open = true;
    read(*r);
  }
}

void task_process::take(output::stream s, std::string_view line) {
  if (line.ends_with('\r')) return output_.unfinished(number_, s, line.substr(0, line.size() - 1));
  if (on_line) on_line(line);
  output_.line(number_, s, line);
  auto& last = last_[static_cast<std::size_t>(s)];
  last.emplace_back(line.substr(0, last_line_bytes_max));
  if (last.size() > last_lines_max) last.pop_front();
}

void task_process::read(reader& r) {
  r.pipe.async_read_some(asio::buffer(r.buffer), [this, &r](error_code error, std::size_t n) {
    if (error == asio::error::operation_aborted) return;
    if (error) return close(r);
    r.lines.add({r.buffer.data(), n});
    if (!polling_) report_pending_line();
    if (output_.full())
      r.paused = true;
    else
      read(r);
  });
}

void task_process::report_pending_line() {
  constexpr std::chrono::milliseconds look_every{100};
  polling_ = false;
  for (auto* r : {&out_, &err_}) {
    if (!output_.full()) r->lines.report_pending_line(line_splitter::clock::now());
    polling_ = polling_ || (r->open && r->lines.stands());
  }
  if (!polling_) return;
  poll_timer_.expires_after(look_every);
  poll_timer_.async_wait([this](error_code error) {
    if (!error) report_pending_line();
  });
}

void task_process::resume() {
  for (auto* r : {&out_, &err_})
    if (r->open && r->paused) {
      r->paused = false;
      read(*r);
    }
}

void task_process::signal(int number) const {
  if (running()) ::kill(-pid_, number);
}

void task_process::ended() {
  ended_ = true;
  check_finished();
  if (!finished_) wait_for_rest();
}

void task_process::wait_for_rest() {
  timer_.expires_after(linger);
  timer_.async_wait([this](error_code error) {
    if (error || finished_) return;
    if (out_.paused || err_.paused) return wait_for_rest();
    for (auto* r : {&out_, &err_}) {
      if (!r->open) continue;
      drain(*r);
      close(*r);
    }
  });
}

// Reads only output that is available now; other processes write later output.
void task_process::drain(reader& r) {
  constexpr std::size_t bytes_max = std::size_t{4} << 20;
  r.pipe.non_blocking(true);
  error_code error;
  for (std::size_t total = 0; total < bytes_max;) {
    auto const n = r.pipe.read_some(asio::buffer(r.buffer), error);
    if (error) return;
    r.lines.add({r.buffer.data(), n});
    total += n;
  }
}

void task_process::close(reader& r) {
  if (!r.open) return;
  r.open = false;
  r.lines.end();
  error_code ignored;
  r.pipe.close(ignored);
  check_finished();
}

void task_process::check_finished() {
  if (finished_ || !ended_ || out_.open || err_.open) return;
  finished_ = true;
  timer_.cancel();
  poll_timer_.cancel();
  asio::post(timer_.get_executor(), on_finished_);
}

}  // namespace muster::launch
