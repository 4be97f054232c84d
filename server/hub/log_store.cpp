// Lines are stored by job. A closure stores only its lines' numbers, so that both listings need one
// lookup, and dropping a closure's oldest line is cheap.
#include "server/hub/log_store.hpp"

#include <algorithm>
#include <cmath>

#include "base/utf8.hpp"

namespace muster::server {

namespace {

void cut(std::string& text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return;
  auto const end = utf8_boundary(text, bytes_max);
  auto const cut_off = text.size() - end;
  text.resize(end);
  text += " … " + std::to_string(cut_off) + " bytes cut";
}

std::size_t cost(log_line const& l) {
  return l.text.size() + log_limits::line_overhead;
}

bool line_ended(log_line const& l) {
  return !l.text.ends_with('\r');
}

}  // namespace

log_store::closure_log& log_store::touch(core::session_id job, core::closure_id closure) {
  auto const [it, is_new] = closures_.try_emplace(closure);
  auto& c = it->second;
  if (is_new) {
    c.job = job;
    c.age = ages_.insert(ages_.end(), closure);
    jobs_[job].closures.insert(closure);
    counts_.bytes += log_limits::closure_overhead;
  } else {
    ages_.splice(ages_.end(), ages_, c.age);
  }
  return c;
}

void log_store::add(core::session_id job, log_line line) {
  bool const ended = line_ended(line);
  if (!ended) line.text.pop_back();
  cut(line.text, limits_.line_bytes_max);
  if (!ended) line.text += '\r';
  ++counts_.lines;
  log_target const of{job, line.closure};
  auto& c = touch(job, line.closure);
  auto& all = jobs_[job];
  drop_unfinished(c, line);
  line.seq = ++all.newest;
  if (!ended) c.unfinished[line.level] = line.seq;
  if (ended && is_followed_ && new_lines_.size() < new_lines_max)
    new_lines_.emplace_back(job, line.seq);
  c.lines.push_back(line.seq);
  c.bytes += cost(line);
  counts_.bytes += cost(line);
  all.lines.emplace(line.seq, std::move(line));
  while (c.lines.size() > limits_.closure_lines_max ||
         (c.bytes > limits_.closure_bytes_max && c.lines.size() > 1))
    drop_oldest(c);
  make_room();
  wake(of);
}

std::vector<log_store::job_line> log_store::take_new_lines() {
  is_followed_ = true;
  std::vector<job_line> lines;
  for (auto const& [job, seq] : std::exchange(new_lines_, {})) {
    auto const of = jobs_.find(job);
    if (of == jobs_.end()) continue;
    if (auto const it = of->second.lines.find(seq); it != of->second.lines.end())
      lines.emplace_back(job, it->second);
  }
  return lines;
}

void log_store::set_progress(core::session_id job, core::closure_id closure, closure_progress p) {
  cut(p.text, limits_.progress_text_bytes_max);
  p.fraction = std::isfinite(p.fraction) ? std::clamp(p.fraction, 0.0, 1.0) : 0;
  touch(job, closure).progress = std::move(p);
  make_room();
}

void log_store::set_name(core::session_id job, core::closure_id closure, std::string_view name) {
  auto& c = touch(job, closure);
  c.name = name;
  counts_.bytes += c.name.size();
  make_room();
}

std::string_view log_store::name_of(core::closure_id closure) const {
  auto const it = closures_.find(closure);
  return it == closures_.end() ? std::string_view() : std::string_view(it->second.name);
}

void log_store::drop_oldest(closure_log& c) {
  auto& job = jobs_.at(c.job);
  auto const it = job.lines.find(c.lines.front());
  auto const bytes = cost(it->second);
  job.lines.erase(it);
  c.lines.pop_front();
  c.bytes -= bytes;
  counts_.bytes -= bytes;
  ++c.dropped, ++job.dropped, ++counts_.dropped;
}

void log_store::drop_unfinished(closure_log& c, log_line const& next) {
  auto const number = c.unfinished.extract(next.level);
  if (number.empty()) return;
  auto& lines = jobs_.at(c.job).lines;
  auto const it = lines.find(number.mapped());
  if (it == lines.end() || it->second.attempt != next.attempt) return;
  auto const bytes = cost(it->second);
  c.lines.erase(std::lower_bound(c.lines.begin(), c.lines.end(), it->first));
  c.bytes -= bytes;
  counts_.bytes -= bytes;
  lines.erase(it);
}

void log_store::limit_bytes(std::size_t bytes_max) {
  limits_.bytes_max = bytes_max;
  make_room();
}

void log_store::make_room() {
  while (counts_.bytes > limits_.bytes_max && ages_.size() > 1) {
    auto const oldest = ages_.front();
    auto& c = closures_.at(oldest);
    if (c.lines.empty()) {
      erase(oldest);
      continue;
    }
    while (!c.lines.empty()) drop_oldest(c);
    // The entry keeps its count of dropped lines, and the newest entry remains last.
    ages_.splice(std::prev(ages_.end()), ages_, c.age);
  }
}

void log_store::erase(core::closure_id closure) {
  auto const it = closures_.find(closure);
  ages_.erase(it->second.age);
  jobs_.at(it->second.job).closures.erase(closure);
  counts_.bytes -= it->second.bytes + overhead(it->second);
  closures_.erase(it);
}

void log_store::release(core::session_id job) {
  waiters_.erase(job);
  auto const it = jobs_.find(job);
  if (it == jobs_.end()) return;
  auto const closures = it->second.closures;
  for (auto const c : closures) erase(c);
  jobs_.erase(it);
}

std::optional<closure_progress> log_store::progress(core::closure_id closure) const {
  auto const it = closures_.find(closure);
  return it == closures_.end() ? std::nullopt : it->second.progress;
}

std::optional<core::session_id> log_store::job_of(core::closure_id closure) const {
  auto const it = closures_.find(closure);
  return it == closures_.end() ? std::nullopt : std::optional(it->second.job);
}

std::uint64_t log_store::newest(core::session_id job) const {
  auto const it = jobs_.find(job);
  return it == jobs_.end() ? 0 : it->second.newest;
}

log_page log_store::after(log_target of, std::uint64_t seq, std::size_t limit) const {
  log_page page;
  auto const job = jobs_.find(of.job);
  if (job == jobs_.end()) return page;
  auto const& lines = job->second.lines;
  if (of.closure == core::closure_id{}) {
    page.dropped = job->second.dropped;
    if (!lines.empty()) page.last = lines.rbegin()->first;
    for (auto it = lines.upper_bound(seq); it != lines.end() && page.lines.size() < limit; ++it)
      page.lines.push_back(it->second);
    return page;
  }
  auto const found = closures_.find(of.closure);
  if (found == closures_.end()) return page;
  auto const& numbers = found->second.lines;
  page.dropped = found->second.dropped;
  if (!numbers.empty()) page.last = numbers.back();
  for (auto it = std::upper_bound(numbers.begin(), numbers.end(), seq);
       it != numbers.end() && page.lines.size() < limit; ++it)
    page.lines.push_back(lines.at(*it));
  return page;
}

log_page log_store::newest(log_target of, std::size_t limit) const {
  auto const job = jobs_.find(of.job);
  if (job == jobs_.end() || limit == 0) return after(of, UINT64_MAX, 0);
  std::uint64_t from = 0;
  if (of.closure == core::closure_id{}) {
    auto const& lines = job->second.lines;
    if (lines.size() > limit)
      from = std::prev(lines.end(), static_cast<std::ptrdiff_t>(limit))->first - 1;
  } else if (auto const c = closures_.find(of.closure); c != closures_.end()) {
    auto const& numbers = c->second.lines;
    if (numbers.size() > limit) from = numbers[numbers.size() - limit] - 1;
  }
  return after(of, from, limit);
}

log_store::wait_id log_store::wait(log_target of, std::function<void()> then) {
  auto const id = wait_id{++last_wait_};
  waiters_[of.job].push_back({id, of, std::move(then)});
  return id;
}

void log_store::forget(wait_id id) {
  for (auto it = waiters_.begin(); it != waiters_.end(); ++it) {
    if (std::erase_if(it->second, [id](waiter const& w) { return w.id == id; }) == 0) continue;
    if (it->second.empty()) waiters_.erase(it);
    return;
  }
}

// Callbacks may call `wait` and `forget`.
void log_store::wake(log_target of) {
  auto const it = waiters_.find(of.job);
  if (it == waiters_.end()) return;
  auto const wants = [of](waiter const& w) {
    return w.of.closure == core::closure_id{} || w.of.closure == of.closure;
  };
  std::vector<waiter> ready;
  auto& all = it->second;
  auto const rest = std::stable_partition(all.begin(), all.end(), std::not_fn(wants));
  std::move(rest, all.end(), std::back_inserter(ready));
  all.erase(rest, all.end());
  if (all.empty()) waiters_.erase(it);
  for (auto& w : ready) w.then();
}

log_store::counts log_store::count() const {
  auto c = counts_;
  c.closures = closures_.size();
  return c;
}

}  // namespace muster::server
