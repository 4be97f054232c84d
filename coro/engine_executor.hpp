// Asio executor of engine_context, for co_spawn, awaitables and asio::post. Cheap to copy. Valid
// while its context exists. Thread-safe.
#pragma once

#include <boost/asio/execution.hpp>
#include <concepts>
#include <type_traits>
#include <utility>

#include "coro/engine_context.hpp"

namespace muster::coro {

class engine_executor {
  using blocking = asio::execution::blocking_t;
  using outstanding_work = asio::execution::outstanding_work_t;

 public:
  explicit engine_executor(engine_context& context) noexcept : context_(&context) {}

  engine_executor(engine_executor const& other) noexcept
      : context_(other.context_), never_blocks_(other.never_blocks_), tracked_(other.tracked_) {
    if (tracked_) context_->work_started();
  }
  engine_executor(engine_executor&& other) noexcept
      : context_(other.context_),
        never_blocks_(other.never_blocks_),
        tracked_(std::exchange(other.tracked_, false)) {}
  engine_executor& operator=(engine_executor other) noexcept {
    std::swap(context_, other.context_);
    std::swap(never_blocks_, other.never_blocks_);
    std::swap(tracked_, other.tracked_);
    return *this;
  }
  ~engine_executor() {
    if (tracked_) context_->work_finished();
  }

  // On the engine thread, runs `f` immediately unless blocking.never is set. Otherwise posts `f`.
  template <class F>
  void execute(F&& f) const {
    if (!never_blocks_ && context_->running_in_this_thread()) {
      std::decay_t<F> callable(std::forward<F>(f));
      std::move(callable)();
    } else {
      context_->post(function(std::forward<F>(f)));
    }
  }

  [[nodiscard]] engine_executor require(blocking::never_t) const noexcept {
    return with(true, tracked_);
  }
  [[nodiscard]] engine_executor require(blocking::possibly_t) const noexcept {
    return with(false, tracked_);
  }
  [[nodiscard]] engine_executor require(outstanding_work::tracked_t) const noexcept {
    return with(never_blocks_, true);
  }
  [[nodiscard]] engine_executor require(outstanding_work::untracked_t) const noexcept {
    return with(never_blocks_, false);
  }

  [[nodiscard]] engine_context& query(asio::execution::context_t) const noexcept {
    return *context_;
  }
  [[nodiscard]] blocking query(blocking) const noexcept {
    return never_blocks_ ? blocking(blocking::never) : blocking(blocking::possibly);
  }
  [[nodiscard]] outstanding_work query(outstanding_work) const noexcept {
    return tracked_ ? outstanding_work(outstanding_work::tracked)
                    : outstanding_work(outstanding_work::untracked);
  }

  friend bool operator==(engine_executor const& a, engine_executor const& b) noexcept {
    return a.context_ == b.context_ && a.never_blocks_ == b.never_blocks_ &&
           a.tracked_ == b.tracked_;
  }

 private:
  [[nodiscard]] engine_executor with(bool never_blocks, bool tracked) const noexcept {
    engine_executor changed(*context_);
    changed.never_blocks_ = never_blocks;
    changed.tracked_ = tracked;
    if (tracked) context_->work_started();
    return changed;
  }

  engine_context* context_;
  bool never_blocks_ = false;
  bool tracked_ = false;
};

inline engine_executor engine_context::get_executor() noexcept {
  return engine_executor(*this);
}

}  // namespace muster::coro
