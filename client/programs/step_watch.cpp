#include "client/programs/step_watch.hpp"

#include <algorithm>
#include <utility>

#include "base/process/steps/step_layout.hpp"

namespace muster {

step_watch::step_watch(step_files files, std::function<void(all_seen)> seen)
    : files_(std::move(files)), seen_(std::move(seen)) {}

void step_watch::close() {
  {
    std::lock_guard const lock(mutex_);
    closing_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void step_watch::post(std::function<void()> what) {
  std::lock_guard const lock(mutex_);
  if (closing_) return;
  posted_.push_back(std::move(what));
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  changed_.notify_one();
}

void step_watch::add(rank_key const& key) {
  post([this, key] { ranks_[key]; });
}

// Passes the attempt's current order to a rank that starts late. A rank can exit before its file is
// created.
void step_watch::made(rank_key const& key) {
  post([this, key] {
    auto const it = orders_.find({key.program, key.attempt});
    if (it != orders_.end() && ranks_.contains(key)) files_.order(key, it->second.word);
  });
}

void step_watch::ended(rank_key const& key) {
  post([this, key] {
    auto const it = ranks_.find(key);
    if (it != ranks_.end()) it->second.over = ranks_ended_ = true;
  });
}

void step_watch::report_again() {
  std::lock_guard const lock(mutex_);
  if (!thread_.joinable()) return;  // no ranks so far
  posted_.push_back([this] {
    for (auto& [key, r] : ranks_) r.count = 0;
  });
  changed_.notify_one();
}

void step_watch::order(std::uint64_t program, std::uint32_t attempt, std::uint64_t word) {
  bool any = false;
  for (auto it = ranks_.lower_bound({program, attempt, 0});
       it != ranks_.end() && it->first.program == program && it->first.attempt == attempt; ++it) {
    files_.order(it->first, word);
    any = true;
  }
  if (any && word != 0)
    orders_[{program, attempt}] = {word, clock::now()};
  else
    orders_.erase({program, attempt});
}

void step_watch::hold(std::uint64_t program, std::uint32_t attempt,
                      std::function<void(last_steps)> done) {
  post([this, program, attempt, done = std::move(done)]() mutable {
    order(program, attempt, steps::wait);
    questions_.push_back({program, attempt, std::move(done)});
  });
}

void step_watch::stop_after(std::uint64_t program, std::uint32_t attempt,
                            std::optional<std::uint64_t> step) {
  post([this, program, attempt, step] { order(program, attempt, step ? *step + 1 : 0); });
}

std::set<std::pair<std::uint64_t, std::uint32_t>> step_watch::stepping() {
  std::unique_lock lock(mutex_);
  if (!thread_.joinable() || closing_) return stepping_;
  auto const asked = ++reads_asked_;
  posted_.push_back([this, asked] { asked_ = asked; });
  changed_.notify_one();
  read_.wait_for(lock, read_max, [&] { return reads_done_ >= asked; });
  return stepping_;
}

void step_watch::note_stepping() {
  std::set<std::pair<std::uint64_t, std::uint32_t>> all;
  for (auto const& [key, r] : ranks_)
    if (r.last && !r.over) all.emplace(key.program, key.attempt);
  std::lock_guard const lock(mutex_);
  stepping_ = std::move(all);
  reads_done_ = asked_;
  read_.notify_all();
}

void step_watch::remind(std::chrono::milliseconds after, std::function<void()> of) {
  post([this, at = clock::now() + after, of = std::move(of)]() mutable {
    if (remind_) return;
    remind_ = std::move(of);
    remind_at_ = at;
  });
}

void step_watch::revoke_old_holds() {
  auto const before = clock::now() - hold_max;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> old;
  for (auto const& [attempt, t] : orders_)
    if (t.word == steps::wait && t.since < before) old.push_back(attempt);
  for (auto const& [program, attempt] : old) order(program, attempt, 0);
}

void step_watch::look() {
  all_seen all;
  for (auto it = ranks_.begin(); it != ranks_.end();) {
    auto& r = it->second;
    if (auto seen = files_.read(it->first, r.count)) {
      r.count = seen->count;
      r.last = seen->marks.back().step;
      all.emplace_back(it->first, std::move(*seen));
    }
    if (!r.over) {
      ++it;
      continue;
    }
    files_.remove(it->first);
    auto const attempt = std::pair(it->first.program, it->first.attempt);
    it = ranks_.erase(it);
    auto const other = ranks_.lower_bound({attempt.first, attempt.second, 0});
    if (other == ranks_.end() || other->first.program != attempt.first ||
        other->first.attempt != attempt.second)
      orders_.erase(attempt);
  }
  ranks_ended_ = false;
  if (!all.empty()) seen_(std::move(all));
}

void step_watch::answer() {
  auto const asked = std::exchange(questions_, {});
  std::this_thread::sleep_for(settled);  // there is no signal for visible writes
  look();
  for (auto const& q : asked) {
    last_steps last;
    for (auto it = ranks_.lower_bound({q.program, q.attempt, 0});
         it != ranks_.end() && it->first.program == q.program && it->first.attempt == q.attempt;
         ++it)
      if (it->second.last) last.emplace_back(it->first.rank, *it->second.last);
    q.done(std::move(last));
  }
}

// Waits for posted calls. Returns nullopt when the object is being closed.
std::optional<std::vector<std::function<void()>>> step_watch::next_posted(clock::time_point until) {
  std::unique_lock lock(mutex_);
  auto const news = [this] { return closing_ || !posted_.empty(); };
  if (ranks_.empty() && !remind_)
    changed_.wait(lock, news);
  else
    changed_.wait_until(lock, std::min(until, remind_at_), news);
  if (closing_) return {};
  return std::exchange(posted_, {});
}

void step_watch::run() {
  auto next = clock::now() + every;
  while (auto const posted = next_posted(next)) {
    for (auto const& what : *posted) what();
    if (remind_ && clock::now() >= remind_at_) {
      remind_at_ = clock::time_point::max();
      std::exchange(remind_, {})();
    }
    if (!questions_.empty()) answer();
    if (ranks_ended_ || asked_ != reads_done_ || clock::now() >= next) {
      look();
      revoke_old_holds();
      next = clock::now() + every;
    }
    note_stepping();
  }
}

}  // namespace muster
