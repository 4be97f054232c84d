#include "muster/cluster_watch.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>

namespace muster {

struct cluster_watch::state {
  state(std::shared_ptr<cluster_resolver> r, options o, handlers h, std::optional<cluster_spec> k)
      : resolver(std::move(r)), options_(o), handlers_(std::move(h)), last(std::move(k)) {}

  // Immutable members:
  std::shared_ptr<cluster_resolver> const resolver;
  options const options_;
  handlers const handlers_;

  // Members that the thread uses without a lock:
  std::optional<cluster_spec> last;
  std::string last_failure;
  unsigned failures = 0;

  std::mutex mutex;
  std::condition_variable woken;
  // Members that `mutex` protects:
  bool stopping = false;
  bool wanted = false;
  bool telling = false;
  bool ended = false;

  void answered(cluster_spec spec);
  void failed(cluster_error const& e);
  void tell(std::function<void()> const& handler);
};

/// Calls the handler unless the watch is stopping. stop() waits for the handler.
void cluster_watch::state::tell(std::function<void()> const& handler) {
  {
    std::lock_guard const lock(mutex);
    if (stopping) return;
    telling = true;
  }
  handler();
  std::lock_guard const lock(mutex);
  telling = false;
  woken.notify_all();
}

void cluster_watch::state::answered(cluster_spec spec) {
  if (failures > 0 && handlers_.recovered) tell(handlers_.recovered);
  failures = 0;
  last_failure.clear();
  if (last == spec) return;
  last = std::move(spec);
  if (handlers_.changed) tell([this] { handlers_.changed(*last); });
}

void cluster_watch::state::failed(cluster_error const& e) {
  auto const same = failures > 0 && last_failure == e.what();
  ++failures;
  if (same) return;
  last_failure = e.what();
  if (handlers_.failed) tell([&] { handlers_.failed(e); });
}

cluster_watch::cluster_watch(std::shared_ptr<cluster_resolver> resolver, options o, handlers h,
                             std::optional<cluster_spec> known)
    : state_(std::make_shared<state>(std::move(resolver), o, std::move(h), std::move(known))) {
  thread_ = std::thread(run, state_);
}

void cluster_watch::run(std::shared_ptr<state> s) {
  for (;;) {
    try {
      s->answered(s->resolver->cluster_spec());
    } catch (cluster_error const& e) {
      s->failed(e);
    } catch (std::exception const& e) {
      s->failed({cluster_error::code::unreachable, e.what()});
    }
    std::unique_lock lock(s->mutex);
    s->woken.wait_for(lock, delay_after(s->options_, s->failures),
                      [&] { return s->stopping || s->wanted; });
    s->wanted = false;
    if (!s->stopping) continue;
    s->ended = true;
    s->woken.notify_all();
    return;
  }
}

void cluster_watch::refresh() {
  std::lock_guard const lock(state_->mutex);
  state_->wanted = true;
  state_->woken.notify_all();
}

void cluster_watch::request_stop() {
  std::lock_guard const lock(state_->mutex);
  state_->stopping = true;
  state_->woken.notify_all();
}

bool cluster_watch::stop(std::chrono::milliseconds patience) {
  request_stop();
  std::unique_lock lock(state_->mutex);
  state_->woken.wait(lock, [&] { return !state_->telling; });
  auto const ended = state_->woken.wait_for(lock, patience, [&] { return state_->ended; });
  lock.unlock();
  if (!thread_.joinable()) return ended;
  // Detaches the thread, because a hanging resolver must not block the program's exit.
  if (ended)
    thread_.join();
  else
    thread_.detach();
  return ended;
}

std::chrono::milliseconds delay_after(cluster_watch::options const& o, unsigned failures) {
  if (failures == 0) return o.interval;
  constexpr unsigned doublings_max = 20;
  auto const grown = o.retry_first * (1u << std::min(failures - 1, doublings_max));
  return std::min<std::chrono::milliseconds>(grown, std::max(o.retry_first, o.retry_max));
}

}  // namespace muster
