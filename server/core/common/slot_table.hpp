// Objects with 64-bit ids. The low half of an id is the slot, the high half counts the uses of the
// slot, so ids are never reused. References are valid until the object is erased. The user limits
// the number of objects. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.hpp"

namespace muster::core {

/// `Id` is a 64-bit enum. The value 0 is never assigned.
template <class Id, class T>
class slot_table {
 public:
  Id add(T value) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(slots_.size()));
      slots_.emplace_back();
    }
    auto const at = free_.back();
    free_.pop_back();
    auto& s = slots_[at];
    s.value.emplace(std::move(value));
    return Id{std::uint64_t{++s.uses} << 32 | at};
  }

  /// Returns null if the id is unknown or its object was erased.
  T* find(Id id) {
    auto const at = slot_of(id);
    if (at >= slots_.size() || slots_[at].uses != uses_of(id) || !slots_[at].value) return nullptr;
    return &*slots_[at].value;
  }
  T const* find(Id id) const { return const_cast<slot_table*>(this)->find(id); }

  /// REQUIRES (also for take()): the object exists.
  T& at(Id id) {
    auto* found = find(id);
    check(found != nullptr, "the object with this id must exist");
    return *found;
  }
  T const& at(Id id) const { return const_cast<slot_table*>(this)->at(id); }

  T take(Id id) {
    T value = std::move(at(id));
    slots_[slot_of(id)].value.reset();
    free_.push_back(slot_of(id));
    return value;
  }

  std::size_t size() const { return slots_.size() - free_.size(); }

  /// Calls `f(id, object)` in slot order.
  template <class F>
  void for_each(F f) const {
    for (std::size_t i = 0; i < slots_.size(); ++i)
      if (slots_[i].value) f(Id{std::uint64_t{slots_[i].uses} << 32 | i}, *slots_[i].value);
  }

 private:
  struct slot {
    std::uint32_t uses = 0;
    std::optional<T> value;
  };
  static std::uint32_t slot_of(Id id) { return static_cast<std::uint32_t>(id); }
  static std::uint32_t uses_of(Id id) {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(id) >> 32);
  }

  std::deque<slot> slots_;
  std::vector<std::uint32_t> free_;
};

}  // namespace muster::core
