// A value that several closures of one worker share, used by one of them at a time.
//
//   worker.function("open", [] { return std::make_shared<muster::one_at_a_time<reader>>("train");
//   }); worker.function("next", [](std::shared_ptr<muster::one_at_a_time<reader>> const& r) {
//     return r->use([](reader& each) { return each.next(); });
//   });
//
// For per-worker values of workers with more than one slot; see per_worker_value.hpp.
#pragma once

#include <mutex>
#include <utility>

namespace muster {

template <class T>
class one_at_a_time {
 public:
  template <class... Args>
  explicit one_at_a_time(Args&&... args) : value_(std::forward<Args>(args)...) {}
  one_at_a_time(one_at_a_time const&) = delete;

  /// What `f` makes of the value; nobody else has it meanwhile, others wait. Any thread. REQUIRES:
  /// `f` does not use the value again by this, and keeps no reference to it.
  template <class F>
  auto use(F&& f) {
    std::lock_guard held(mutex_);
    return std::forward<F>(f)(value_);
  }

 private:
  std::mutex mutex_;  // protects the value
  T value_;
};

}  // namespace muster
