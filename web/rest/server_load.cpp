#include "web/rest/server_load.hpp"

#include <sys/resource.h>

#include <algorithm>

namespace muster::web {

namespace {

std::chrono::microseconds time_between(server_load::clock::time_point a,
                                       server_load::clock::time_point b) {
  return std::chrono::duration_cast<std::chrono::microseconds>(b - a);
}

// Returns the user and system time of all threads of this process.
double cpu_seconds() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  auto const in_seconds = [](timeval const& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return in_seconds(usage.ru_utime) + in_seconds(usage.ru_stime);
}

}  // namespace

void server_load::measure(poster const& post, clock::time_point now) {
  count_answer(now);
  count_cpu(now);
  if (probe_) return;
  auto next = std::make_shared<probe>(now);
  auto answer = [next] { next->lag_us = time_between(next->posted, clock::now()).count(); };
  if (post(std::move(answer))) probe_ = std::move(next);
}

void server_load::count_answer(clock::time_point now) {
  if (!probe_) return;
  auto const us = probe_->lag_us.load();
  if (us < 0) return;
  probe_.reset();
  last_lag_ = std::chrono::microseconds(us);
  auto lag = last_lag_;
  for (auto n = window / interval; n > 0 && lag.count() >= 0; --n, lag -= interval)
    lag_.add(lag, now);
}

void server_load::count_cpu(clock::time_point now) {
  if (!cpu_.empty() && now - cpu_.back().at < std::chrono::seconds(1)) return;
  cpu_.push_back({now, cpu_seconds()});
  while (now - cpu_.front().at > window) cpu_.pop_front();
}

server_load::figures server_load::read(clock::time_point now) {
  count_answer(now);
  figures f;
  f.lag_now = last_lag_;
  if (probe_) {
    auto const waiting = time_between(probe_->posted, now);
    f.responding = waiting < silent_after;
    f.lag_now = std::max(f.lag_now, waiting);
  }
  f.lag = lag_.last_minute(now);
  f.lag.longest = std::max(f.lag.longest, f.lag_now);
  if (!cpu_.empty() && now - cpu_.front().at >= std::chrono::milliseconds(100))
    f.busy_cores = (cpu_seconds() - cpu_.front().seconds) /
                   std::chrono::duration<double>(now - cpu_.front().at).count();
  return f;
}

}  // namespace muster::web
