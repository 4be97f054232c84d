// Writes to a page that is shared with the worker. A step makes no system call unless it has to
// wait.
#include "muster/step.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include "base/process/steps/step_layout.hpp"

namespace muster {
namespace {

// Time limit for agreeing on a step, which usually takes a few milliseconds. A worker that
// disconnects must not block a program forever. A rank that continues after the limit stops at a
// later step if required.
constexpr std::chrono::seconds agreement_wait{10};

template <class T>
std::atomic_ref<T> shared(T& word) {
  return std::atomic_ref<T>(word);
}

steps::layout* mapped() {
  auto const* path = std::getenv(steps::variable);
  if (!path || !*path) return nullptr;
  auto const file = ::open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return nullptr;
  struct stat about {};
  void* at = MAP_FAILED;
  if (::fstat(file, &about) == 0 && about.st_size >= static_cast<off_t>(sizeof(steps::layout)))
    at = ::mmap(nullptr, sizeof(steps::layout), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (at == MAP_FAILED) return nullptr;
  auto* page = static_cast<steps::layout*>(at);
  return page->magic == steps::magic ? page : nullptr;
}

std::uint64_t agreed(steps::layout& page) {
  auto const until = std::chrono::steady_clock::now() + agreement_wait;
  for (;;) {
    auto const order = shared(page.order).load();
    if (order != steps::wait) return order;
    if (std::chrono::steady_clock::now() > until) return 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // shared memory has no notification
  }
}

}  // namespace

bool step(std::uint64_t n) {
  static auto* const page = mapped();
  static std::mutex mutex;
  if (n > steps::step_max)
    throw std::invalid_argument("step " + std::to_string(n) + ": must be at most 2^53");
  if (!page) return false;
  {
    std::lock_guard const lock(mutex);
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);  // inside the lock, so that the times are ascending
    auto const count = page->count;
    auto& e = page->entries[count % steps::ring];
    shared(e.step).store(n);
    shared(e.ns).store(static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
                       static_cast<std::uint64_t>(now.tv_nsec));
    shared(page->count).store(count + 1);
  }
  auto order = shared(page->order).load();
  if (order == steps::wait) order = agreed(*page);
  return order != 0 && n + 1 >= order;
}

}  // namespace muster
