#include "client/programs/step_watch.hpp"

#include <algorithm>

#include "client/step_layout.hpp"

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

// A rank that begins late is told what the others were.
void step_watch::add(rank_key const& key) {
  std::lock_guard const lock(mutex_);
  ranks_[key];
  if (auto const it = words_.find({key.program, key.attempt}); it != words_.end())
    files_.order(key, it->second.word);
  if (!thread_.joinable() && !closing_) thread_ = std::thread([this] { run(); });
  changed_.notify_one();
}

void step_watch::ended(rank_key const& key) {
  std::lock_guard const lock(mutex_);
  auto const it = ranks_.find(key);
  if (it == ranks_.end()) return;
  it->second.over = over_ = true;
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
    words_[{program, attempt}] = {word, std::chrono::steady_clock::now()};
  else
    words_.erase({program, attempt});
}

void step_watch::hold(std::uint64_t program, std::uint32_t attempt,
                      std::function<void(last_steps)> done) {
  std::lock_guard const lock(mutex_);
  order(program, attempt, steps::wait);
  questions_.push_back({program, attempt, std::move(done)});
  if (!thread_.joinable() && !closing_) thread_ = std::thread([this] { run(); });
  changed_.notify_one();
}

void step_watch::stop_after(std::uint64_t program, std::uint32_t attempt,
                            std::optional<std::uint64_t> step) {
  std::lock_guard const lock(mutex_);
  order(program, attempt, step ? *step + 1 : 0);
}

std::set<std::pair<std::uint64_t, std::uint32_t>> step_watch::stepping() {
  std::lock_guard const lock(mutex_);
  std::set<std::pair<std::uint64_t, std::uint32_t>> all;
  for (auto const& [key, r] : ranks_)
    if (r.last && !r.over) all.emplace(key.program, key.attempt);
  return all;
}

void step_watch::remind(std::chrono::milliseconds after, std::function<void()> of) {
  std::lock_guard const lock(mutex_);
  if (remind_) return;
  remind_ = std::move(of);
  remind_at_ = std::chrono::steady_clock::now() + after;
  changed_.notify_one();
}

void step_watch::give_up_holds() {
  auto const before = std::chrono::steady_clock::now() - hold_max;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> old;
  for (auto const& [attempt, t] : words_)
    if (t.word == steps::wait && t.since < before) old.push_back(attempt);
  for (auto const& [program, attempt] : old) order(program, attempt, 0);
}

void step_watch::look(std::unique_lock<std::mutex>& lock) {
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
      words_.erase(attempt);
  }
  over_ = false;
  if (all.empty()) return;
  lock.unlock();
  seen_(std::move(all));
  lock.lock();
}

void step_watch::answer(std::unique_lock<std::mutex>& lock) {
  auto const asked = std::exchange(questions_, {});
  lock.unlock();
  std::this_thread::sleep_for(settled);  // nobody tells when stores are seen
  lock.lock();
  look(lock);
  for (auto const& q : asked) {
    last_steps last;
    for (auto it = ranks_.lower_bound({q.program, q.attempt, 0});
         it != ranks_.end() && it->first.program == q.program && it->first.attempt == q.attempt;
         ++it)
      if (it->second.last) last.emplace_back(it->first.rank, *it->second.last);
    lock.unlock();
    q.done(std::move(last));
    lock.lock();
  }
}

void step_watch::run() {
  std::unique_lock lock(mutex_);
  auto next = std::chrono::steady_clock::now() + every;
  for (;;) {
    auto const news = [this] { return closing_ || over_ || !questions_.empty(); };
    if (ranks_.empty() && !remind_)
      changed_.wait(lock, [&] { return news() || !ranks_.empty() || remind_; });
    else
      changed_.wait_until(lock, std::min(next, remind_at_), news);
    if (closing_) return;
    if (remind_ && std::chrono::steady_clock::now() >= remind_at_) {
      remind_at_ = std::chrono::steady_clock::time_point::max();
      auto const call = std::exchange(remind_, {});
      lock.unlock();
      call();
      lock.lock();
      continue;
    }
    if (!questions_.empty()) {
      answer(lock);
      continue;
    }
    look(lock);
    give_up_holds();
    next = std::chrono::steady_clock::now() + every;
  }
}

}  // namespace muster
