// Limits a coordinator's calls to its queue_capacity. The server reports how many calls of the
// stream it has accepted, and how many calls of the session are waiting. Protected by the session's
// mutex.
#pragma once

#include <cstdint>

#include "muster/v1/coordinator.pb.h"

namespace muster::detail {

class queue_bound {
 public:
  /// A capacity of 0 means no limit.
  explicit queue_bound(std::uint64_t capacity) : capacity_(capacity) {}

  bool is_wanted() const { return capacity_ > 0; }

  void begin_stream() { sent_ = taken_ = waiting_ = 0; }
  void add() { ++sent_; }

  void take(v1::SessionResponse const& m) {
    if (m.has_opened()) server_reports_ = m.has_queue();  // older servers do not report the queue
    if (!m.has_queue()) return;
    taken_ = m.queue().taken();
    waiting_ = m.queue().waiting();
  }

  /// Returns whether the queue is full. `unfinished` is the number of calls without an outcome,
  /// which counts while there is no stream.
  bool is_full(bool streaming, std::uint64_t unfinished) const {
    if (capacity_ == 0 || !server_reports_) return false;
    return (streaming ? waiting_ + (sent_ - taken_) : unfinished) >= capacity_;
  }

 private:
  std::uint64_t capacity_;
  bool server_reports_ = true;
  /// Numbers of calls that this stream has sent, and that the server has accepted.
  std::uint64_t sent_ = 0, taken_ = 0;
  std::uint64_t waiting_ = 0;  // calls waiting on the server at its last report
};

}  // namespace muster::detail
