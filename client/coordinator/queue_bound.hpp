// Keeps a coordinator from scheduling more than its queue_capacity. The server reports how many
// closures of a stream it has taken, and how many of the session's closures wait. A value; under
// the session's mutex.
#pragma once

#include <cstdint>

#include "muster/v1/coordinator.pb.h"

namespace muster::detail {

class queue_bound {
 public:
  /// `capacity` 0: no bound.
  explicit queue_bound(std::uint64_t capacity) : capacity_(capacity) {}

  bool is_wanted() const { return capacity_ > 0; }

  /// A stream begins. Nothing of it is sent yet.
  void begin_stream() { sent_ = taken_ = waiting_ = 0; }
  void add() { ++sent_; }

  void take(v1::SessionResponse const& m) {
    if (m.has_opened()) server_reports_ = m.has_queue();  // older servers do not
    if (!m.has_queue()) return;
    taken_ = m.queue().taken();
    waiting_ = m.queue().waiting();
  }

  /// @param unfinished  closures without an outcome; they count while there is no stream.
  bool is_full(bool streaming, std::uint64_t unfinished) const {
    if (capacity_ == 0 || !server_reports_) return false;
    return (streaming ? waiting_ + (sent_ - taken_) : unfinished) >= capacity_;
  }

 private:
  std::uint64_t capacity_;
  bool server_reports_ = true;
  std::uint64_t sent_ = 0, taken_ = 0;  // closures of this stream
  std::uint64_t waiting_ = 0;           // at the server, when it had taken `taken_`
};

}  // namespace muster::detail
