// The queue of those who are told something that rests on what has to be on the disk first. Each
// waits for a batch of the journal: the last that changed what the answer is about, or, where
// nobody can say what that is, the last of all. Who waits for less is told earlier; of those who
// wait for the same none overtakes another. Owned by who owns the journal, shared by the hubs of
// both kinds; engine thread only. As long as calls are open.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string_view>
#include <unordered_map>

#include "base/status.hpp"
#include "server/core/api/time.hpp"

namespace muster::server {

/// A number for something that batches change. Two that are alike by chance only wait for each
/// other. Never 0.
using subject = std::uint64_t;
subject subject_of(std::uint64_t kind, std::uint64_t id, std::string_view name = {});

class commit_queue {
 public:
  /// `lost`: not OK when what the answer says will never be on the disk.
  using told = std::function<void(muster::status const& lost)>;

  /// A batch got this number of the journal; numbers rise.
  void wrote(std::uint64_t number) { written_ = number; }
  /// The last batch changed it.
  void touch(subject s);
  /// The last batch that changed it and is not on the disk. 0: there is none.
  std::uint64_t batch_of(subject s) const {
    auto const it = unwritten_.find(s);
    return it == unwritten_.end() ? 0 : it->second;
  }
  /// Everything is on the disk, and everybody who waited for it was told.
  bool idle() const { return written_ <= durable_ && held_.empty(); }
  /// The disk has this batch, and everybody who waited for it was told.
  bool is_past(std::uint64_t batch) const {
    return batch <= durable_ && (held_.empty() || held_.begin()->first > batch);
  }
  /// Called when all that was written so far is durable, or never will be; at once where it is.
  /// `changed`: the last batch is the answer's own, so that it may be lost.
  void hold(bool changed, told t) { put({changed, std::move(t)}, written_); }
  /// The same for this batch and those before, on which the answer rests.
  void hold_for(std::uint64_t batch, told t) { put({true, std::move(t)}, batch); }
  /// What was written up to this number is durable. `failed`: nothing beyond it will ever be.
  void on_durable(std::uint64_t number, muster::status const& failed, core::time_point now);

  std::uint64_t written() const { return written_; }
  std::uint64_t durable() const { return durable_; }
  /// UNAVAILABLE, with the reason, once the disk has failed.
  muster::status const& failed() const { return failed_; }
  core::time_point failed_since() const { return failed_since_; }

 private:
  struct held {
    bool rests_on_it = false;
    told tell;
  };
  struct touched {
    std::uint64_t batch = 0;
    subject of = 0;
  };

  void put(held h, std::uint64_t batch);
  bool is_over(std::uint64_t batch) const { return batch <= durable_ || !failed_.ok(); }
  void release(held& h, std::uint64_t batch) {
    h.tell(h.rests_on_it && batch > durable_ ? failed_ : muster::status{});
  }

  std::uint64_t written_ = 0;  // the last number, and…
  std::uint64_t durable_ = 0;  // …how far the disk is
  muster::status failed_;      // not OK: it gets no further
  core::time_point failed_since_ = core::never;
  std::multimap<std::uint64_t, held> held_;  // by batch
  // As many as what waits to be written has changed; once the disk has failed, as what there is.
  std::unordered_map<subject, std::uint64_t> unwritten_;
  std::deque<touched> order_;  // in which it leaves unwritten_
};

}  // namespace muster::server
