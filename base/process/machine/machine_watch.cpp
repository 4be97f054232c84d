#include "base/process/machine/machine_watch.hpp"

#include <pthread.h>
#include <signal.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "base/process/machine/machine_reader.hpp"

namespace muster {

struct machine_watch::shared {
  std::mutex lock;  // guards all members below
  std::condition_variable changed;
  std::function<void(machine)> seen;
  bool stopped = false, ended = false;

  bool pause(std::chrono::milliseconds for_so_long) {
    std::unique_lock held(lock);
    return !changed.wait_for(held, for_so_long, [this] { return stopped; });
  }
  void watch() {
    machine_reader reader;
    reader.read();
    for (auto next = first; pause(next); next = every) {
      auto now = reader.read();
      std::lock_guard const held(lock);
      if (!stopped) seen(std::move(now));
    }
  }
};

machine_watch::machine_watch(std::function<void(machine)> seen)
    : shared_(std::make_shared<shared>()) {
  shared_->seen = std::move(seen);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([s = shared_] {
    s->watch();
    std::lock_guard const held(s->lock);
    s->ended = true;
    s->changed.notify_all();
  }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

machine_watch::~machine_watch() {
  std::unique_lock held(shared_->lock);
  shared_->stopped = true;
  shared_->changed.notify_all();
  shared_->changed.wait_for(held, std::chrono::milliseconds(200),
                            [this] { return shared_->ended; });
}

}  // namespace muster
