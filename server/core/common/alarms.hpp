// Timers of a core, ordered by time. `Kind` is the action, and `id` identifies the affected object.
// Objects clear their timers when they are destroyed, so the limits on objects also limit the
// number of timers. Not thread-safe.
#pragma once

#include <compare>
#include <cstdint>
#include <set>

#include "server/core/api/time.hpp"

namespace muster::core {

template <class Kind>
struct alarm {
  time_point at = never;
  Kind kind{};
  std::uint64_t id = 0;

  auto operator<=>(alarm const&) const = default;
};

template <class Kind>
class alarms {
 public:
  void set(time_point at, Kind kind, std::uint64_t id) { all_.insert({at, kind, id}); }
  void clear(time_point at, Kind kind, std::uint64_t id) { all_.erase({at, kind, id}); }
  time_point next() const { return all_.empty() ? never : all_.begin()->at; }
  /// REQUIRES: next() != never.
  alarm<Kind> pop() { return all_.extract(all_.begin()).value(); }
  std::size_t size() const { return all_.size(); }

 private:
  std::set<alarm<Kind>> all_;
};

}  // namespace muster::core
