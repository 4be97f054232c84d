#include "server/journal/journal.hpp"

#include <utility>

namespace muster::server::journal {

journal::journal(std::unique_ptr<store> s, journal_options o, progress p)
    : store_(std::move(s)), options_(o), progress_(std::move(p)), thread_([this] { run(); }) {}

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
    lock.lock();
    if (!written.ok()) return;
  }
}

}  // namespace muster::server::journal
