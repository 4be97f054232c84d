#include "server/journal/journal.hpp"

#include <chrono>
#include <utility>

namespace muster::server::journal {

namespace {

constexpr auto looked_at_every = std::chrono::seconds(10);

}  // namespace

journal::journal(std::unique_ptr<store> s, journal_options o, progress p)
    : store_(std::move(s)), options_(o), progress_(std::move(p)) {
  facts_.disk_bytes = store_->bytes_on_disk();
  thread_ = std::thread([this] { run(); });
}

std::uint64_t journal::append(std::vector<change> batch) {
  std::lock_guard const lock(mutex_);
  if (!facts_.failed.ok()) return ++facts_.appended;  // never durable
  for (auto& c : batch) {
    facts_.waiting_bytes += c.bytes();
    queue_.push_back(std::move(c));
  }
  if (++facts_.appended == facts_.durable + 1) appended_.notify_one();
  return facts_.appended;
}

bool journal::full() const {
  std::lock_guard const lock(mutex_);
  return facts_.waiting_bytes >= options_.queue_bytes_max;
}

journal_facts journal::facts() const {
  std::lock_guard const lock(mutex_);
  return facts_;
}

void journal::stop() {
  {
    std::lock_guard const lock(mutex_);
    stopping_ = true;
  }
  appended_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void journal::run() {
  auto looked = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  for (;;) {
    // No deadline: the server lives as long as it likes without a change.
    appended_.wait(lock, [this] { return stopping_ || facts_.appended > facts_.durable; });
    if (facts_.appended == facts_.durable || !facts_.failed.ok()) return;
    auto const batch = std::exchange(queue_, {});
    auto const upto = facts_.appended;
    auto const bytes = facts_.waiting_bytes;
    lock.unlock();
    auto const written = store_->write(batch);
    lock.lock();
    ++facts_.writes;
    facts_.failed = written;
    if (written.ok()) {
      facts_.durable = upto;
      facts_.written_bytes += bytes;
      facts_.waiting_bytes -= bytes;
    }
    if (stopping_ && queue_.empty()) return;
    lock.unlock();
    progress_(written.ok() ? upto : facts_.durable, written);
    auto const now = std::chrono::steady_clock::now();
    bool const look = now - looked >= looked_at_every;
    auto const on_disk = look ? store_->bytes_on_disk() : 0;
    lock.lock();
    if (look) facts_.disk_bytes = on_disk, looked = now;
    if (!written.ok()) return;
  }
}

}  // namespace muster::server::journal
