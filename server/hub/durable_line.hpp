// The line of those who are told something that rests on what has to be on the disk first. None
// overtakes another, since what an answer says may rest on any change before it. Owned by the
// coordination hub, shared by the hubs of closures; engine thread only. As long as calls are open.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>

#include "base/status.hpp"
#include "server/core/api/time.hpp"

namespace muster::server {

class durable_line {
 public:
  /// `lost`: not OK when what the answer says of its own change will never be on the disk.
  using told = std::function<void(muster::status const& lost)>;

  /// A batch got this number of the journal; numbers rise.
  void wrote(std::uint64_t number) { written_ = number; }
  /// Nobody has to wait.
  bool idle() const { return held_.empty() && (written_ <= durable_ || !failed_.ok()); }
  /// Called when all that was written so far is durable, or never will be; at once where it is.
  /// `changed`: the last batch is the answer's own.
  void hold(bool changed, told t);
  /// What was written up to this number is durable. `failed`: nothing beyond it will ever be.
  void on_durable(std::uint64_t number, muster::status const& failed, core::time_point now);

  std::uint64_t written() const { return written_; }
  std::uint64_t durable() const { return durable_; }
  /// UNAVAILABLE, with the reason, once the disk has failed.
  muster::status const& failed() const { return failed_; }
  core::time_point failed_since() const { return failed_since_; }

 private:
  struct held {
    std::uint64_t number = 0;
    bool changed = false;
    told tell;
  };
  void release(held& h) { h.tell(h.changed && h.number > durable_ ? failed_ : muster::status{}); }

  std::uint64_t written_ = 0;  // the last number, and…
  std::uint64_t durable_ = 0;  // …how far the disk is
  muster::status failed_;      // not OK: it gets no further
  core::time_point failed_since_ = core::never;
  std::deque<held> held_;
};

}  // namespace muster::server
