// Move-only counterpart of std::function for queues, mailboxes and timers, whose completion
// handlers cannot be copied. Callables of up to 48 bytes with a noexcept move constructor need no
// allocation.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "base/check.hpp"

namespace muster::coro {

template <class Signature>
class unique_function;

template <class... Args>
class unique_function<void(Args...)> {
 public:
  unique_function() noexcept = default;

  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, unique_function> &&
           std::is_invocable_v<std::decay_t<F>&, Args...>)
      unique_function(
          F&& callable) {  // NOLINT(google-explicit-constructor): converts like std::function
    using target = std::decay_t<F>;
    if constexpr (fits<target>) {
      ::new (storage_) target(std::forward<F>(callable));
      table_ = &inline_table<target>;
    } else {
      ::new (storage_) target*(new target(std::forward<F>(callable)));
      table_ = &heap_table<target>;
    }
  }

  unique_function(unique_function&& other) noexcept { take(other); }
  unique_function& operator=(unique_function&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  ~unique_function() { reset(); }

  explicit operator bool() const noexcept { return table_ != nullptr; }

  // @pre The function is not empty.
  void operator()(Args... args) {
    check(table_ != nullptr, "an empty function must not be called");
    table_->invoke(storage_, std::forward<Args>(args)...);
  }

  void reset() noexcept {
    if (table_ != nullptr) std::exchange(table_, nullptr)->destroy(storage_);
  }

 private:
  struct table {
    void (*invoke)(void*, Args&&...);
    void (*relocate)(void* from, void* to) noexcept;
    void (*destroy)(void*) noexcept;
  };

  static constexpr std::size_t inline_bytes = 48;

  template <class F>
  static constexpr bool fits =
      sizeof(F) <= inline_bytes &&
      alignof(F) <= alignof(std::max_align_t) && std::is_nothrow_move_constructible_v<F>;

  template <class F>
  static constexpr table inline_table{
      [](void* at, Args&&... args) {
        std::invoke(*static_cast<F*>(at), std::forward<Args>(args)...);
      },
      [](void* from, void* to) noexcept {
        ::new (to) F(std::move(*static_cast<F*>(from)));
        std::destroy_at(static_cast<F*>(from));
      },
      [](void* at) noexcept { std::destroy_at(static_cast<F*>(at)); }};

  template <class F>
  static constexpr table heap_table{
      [](void* at, Args&&... args) {
        std::invoke(**static_cast<F**>(at), std::forward<Args>(args)...);
      },
      [](void* from, void* to) noexcept { ::new (to) F*(*static_cast<F**>(from)); },
      [](void* at) noexcept { delete *static_cast<F**>(at); }};

  void take(unique_function& other) noexcept {
    table_ = std::exchange(other.table_, nullptr);
    if (table_ != nullptr) table_->relocate(other.storage_, storage_);
  }

  table const* table_ = nullptr;
  alignas(std::max_align_t) std::byte storage_[inline_bytes];
};

using function = unique_function<void()>;

}  // namespace muster::coro
