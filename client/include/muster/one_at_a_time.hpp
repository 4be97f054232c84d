// A value with a lock, shared by several calls.
#pragma once

#include <mutex>
#include <utility>

namespace muster {

/// A value that a worker's calls share but that only one call uses at a time. Intended for
/// per-worker values of workers with several slots; see per_worker_value.
///
/// @code
/// w.function("open", [] { return std::make_shared<muster::one_at_a_time<reader>>("train"); });
/// w.function("next", [](std::shared_ptr<muster::one_at_a_time<reader>> const& r) {
///   return r->use([](reader& each) { return each.next(); });
/// });
/// @endcode
/// @tparam T  type of the value
template <class T>
class one_at_a_time {
 public:
  /// Constructs the value.
  /// @param args  constructor arguments of the value
  template <class... Args>
  explicit one_at_a_time(Args&&... args) : value_(std::forward<Args>(args)...) {}
  one_at_a_time(one_at_a_time const&) = delete;

  /// Calls a function with exclusive access to the value; other threads wait. May be called from
  /// any thread.
  /// @param f  receives a reference to the value; must not keep the reference or call use() again
  /// @return the result of `f`
  template <class F>
  auto use(F&& f) {
    std::lock_guard held(mutex_);
    return std::forward<F>(f)(value_);
  }

 private:
  std::mutex mutex_;
  T value_;
};

}  // namespace muster
