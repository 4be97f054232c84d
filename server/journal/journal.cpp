#include "server/journal/journal.hpp"

#include <utility>

#include "server/disk/sync_times.hpp"

namespace muster::server::journal {

namespace {

constexpr auto size_check_interval = std::chrono::seconds(10);
constexpr auto hurried_every = std::chrono::milliseconds(50);
constexpr auto space_check_interval = std::chrono::seconds(1);

}  // namespace

journal::journal(std::unique_ptr<store> s, journal_options o, progress p)
    : store_(std::move(s)), options_(o), progress_(std::move(p)) {
  facts_.disk_bytes = store_->bytes_on_disk();
  update_free_space();
  thread_ = std::thread([this] {
    run();
    std::lock_guard const lock(mutex_);
    ended_ = true;
    end_.notify_all();
  });
}

std::uint64_t journal::append(std::vector<change> batch) {
  std::lock_guard const lock(mutex_);
  if (!facts_.failed.ok()) return ++facts_.appended;  // never becomes durable
  if (queue_.empty() && writing_)
    gather_until_ = std::chrono::steady_clock::now() + options_.commit_delay;
  for (auto& c : batch) {
    facts_.waiting_bytes += c.bytes();
    queue_.push_back(std::move(c));
  }
  if (++facts_.appended == facts_.durable + 1) appended_.notify_one();
  return facts_.appended;
}

bool journal::full() const {
  std::lock_guard const lock(mutex_);
  return facts_.waiting_bytes >= options_.queue_bytes_max || facts_.disk_is_full;
}

journal_stats journal::facts() const {
  std::lock_guard const lock(mutex_);
  return facts_;
}

void journal::stop() {
  if (!thread_.joinable()) return;
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    appended_.notify_one();
    while (!end_.wait_for(lock, hurried_every, [this] { return ended_; })) store_->hurry();
  }
  thread_.join();
}

// Returns whether `disk_is_full` has changed. Called on the journal's thread, or before it starts.
bool journal::update_free_space() {
  auto const free = store_->bytes_free();
  std::lock_guard const lock(mutex_);
  facts_.store_version = store_->version();
  facts_.free_bytes = free;
  bool const full = free && *free < options_.reserve_bytes;
  return std::exchange(facts_.disk_is_full, full) != full;
}

// Requeues a batch when the disk is full, and waits. Returns false if the journal is stopping.
bool journal::put_back(std::vector<change> batch, std::unique_lock<std::mutex>& lock) {
  for (auto& c : queue_) batch.push_back(std::move(c));
  queue_ = std::move(batch);
  bool const news = !std::exchange(facts_.disk_is_full, true);
  auto const upto = facts_.durable;
  lock.unlock();
  auto const free = store_->bytes_free();
  lock.lock();
  facts_.free_bytes = free;
  lock.unlock();
  if (news) progress_(upto, {});
  lock.lock();
  return !appended_.wait_for(lock, space_check_interval, [this] { return stopping_; });
}

void journal::run() {
  auto looked = std::chrono::steady_clock::now();
  auto room_looked = looked;
  std::unique_lock lock(mutex_);
  auto const something = [this] { return stopping_ || facts_.appended > facts_.durable; };
  for (;;) {
    // Other programs can fill the disk while the journal is idle.
    if (!facts_.disk_is_full && !store_->is_local()) {
      appended_.wait(lock, something);
    } else if (!appended_.wait_for(lock, space_check_interval, something)) {
      auto const upto = facts_.durable;
      lock.unlock();
      if (update_free_space()) progress_(upto, {});
      room_looked = std::chrono::steady_clock::now();
      lock.lock();
      continue;
    }
    if (facts_.appended == facts_.durable || !facts_.failed.ok()) return;
    if (options_.commit_delay.count() > 0)
      appended_.wait_until(lock, gather_until_, [this] { return stopping_; });
    writing_ = true;
    auto batch = std::exchange(queue_, {});
    auto const upto = facts_.appended;
    auto const bytes = facts_.waiting_bytes;
    lock.unlock();
    auto const begun = std::chrono::steady_clock::now();
    auto const written = store_->write(batch);
    auto const ended = std::chrono::steady_clock::now();
    sync_times().add(std::chrono::duration_cast<std::chrono::microseconds>(ended - begun), ended);
    lock.lock();
    writing_ = false;
    ++facts_.writes;
    if (written.code == code::resource_exhausted) {
      if (put_back(std::move(batch), lock)) continue;
      return;
    }
    facts_.failed = written;
    if (written.ok()) {
      facts_.durable = upto;
      facts_.waiting_bytes -= bytes;
    }
    if (stopping_ && queue_.empty()) return;
    lock.unlock();
    auto const now = std::chrono::steady_clock::now();
    if (now - room_looked >= space_check_interval) {
      update_free_space();
      room_looked = now;
    }
    progress_(written.ok() ? upto : facts_.durable, written);
    bool const look = now - looked >= size_check_interval;
    auto const on_disk = look ? store_->bytes_on_disk() : 0;
    lock.lock();
    if (look) facts_.disk_bytes = on_disk, looked = now;
    if (!written.ok()) return;
  }
}

}  // namespace muster::server::journal
