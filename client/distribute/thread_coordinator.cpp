#include "muster/thread_coordinator.hpp"

#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "client/log_line.hpp"

namespace muster {
namespace {

struct member {
  std::string name;
  bool done = false;
  std::thread thread;
};

bool is_end_of_data(std::exception_ptr const& e) {
  try {
    std::rethrow_exception(e);
  } catch (end_of_data const&) {
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

// State shared with the threads. A detached thread keeps the state alive.
struct thread_coordinator::state {
  explicit state(options o) : settings(o) {}

  void request_stop(std::exception_ptr e, std::string_view by = {}) {
    bool const clean = e && settings.end_of_data_is_clean && is_end_of_data(e);
    if (clean)
      log(log_level::info,
          std::string(by) +
              " has reached the end of the data; the other threads are asked to stop");
    {
      std::lock_guard lock(mutex);
      if (!error && e && !clean && !stopping) error = std::move(e);
      stopping = true;
    }
    changed.notify_all();
    stop.request_stop();
  }
  void run(std::string_view name, std::function<void()> const& f) {
    try {
      f();
    } catch (...) {
      request_stop(std::current_exception(), name);
    }
  }
  bool all_done() const {
    for (auto const& m : members)
      if (!m->done) return false;
    return true;
  }

  options const settings;
  std::stop_source stop;
  std::mutex mutex;  // protects the following members
  std::condition_variable changed;
  std::vector<std::unique_ptr<member>> members;
  std::exception_ptr error;
  bool stopping = false;
};

thread_coordinator::thread_coordinator() : thread_coordinator(options{}) {}

thread_coordinator::thread_coordinator(options o) : state_(std::make_shared<state>(o)) {}

thread_coordinator::~thread_coordinator() {
  request_stop();
  try {
    join();
  } catch (...) {  // only an explicit join() reports errors
  }
}

void thread_coordinator::start(std::string name, std::function<void()> f) {
  std::lock_guard lock(state_->mutex);
  auto& m = *state_->members.emplace_back(std::make_unique<member>());
  m.name = std::move(name);
  m.thread = std::thread([s = state_, &m, f = std::move(f)]() mutable {
    s->run(m.name, f);
    f = {};  // frees its captures before join returns
    std::lock_guard done_lock(s->mutex);
    m.done = true;
    s->changed.notify_all();
  });
}

void thread_coordinator::stop_on_exception(std::function<void()> const& f) {
  state_->run("the function", f);
}

void thread_coordinator::request_stop(std::exception_ptr error) {
  state_->request_stop(std::move(error));
}

bool thread_coordinator::should_stop() const {
  std::lock_guard lock(state_->mutex);
  return state_->stopping;
}

std::stop_token thread_coordinator::stop_token() const {
  return state_->stop.get_token();
}

void thread_coordinator::join() {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [this] { return state_->stopping || state_->all_done(); });
  state_->changed.wait_for(lock, state_->settings.grace, [this] { return state_->all_done(); });
  std::string behind;
  for (auto& m : state_->members) {
    if (!m->thread.joinable()) continue;
    if (!m->done) {
      behind += (behind.empty() ? "" : ", ") + m->name;
      m->thread.detach();
    } else {
      lock.unlock();  // the thread needs the mutex for its last step
      m->thread.join();
      lock.lock();
    }
  }
  if (state_->error) std::rethrow_exception(std::exchange(state_->error, {}));
  if (!behind.empty())
    throw std::runtime_error("these threads are still running after they were asked to stop: " +
                             behind);
}

}  // namespace muster
