// Callbacks that wait for batches of the journal to become durable. Each callback waits for the
// last batch that changed the subject of its answer or, if the subject is unknown, for the last
// batch. Callbacks run in batch order and, within a batch, in order of arrival. Owned by the
// journal's owner; used only on the engine thread. The number of open calls limits its size.
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

/// Hash of an object that batches change; never 0. A collision only delays an answer.
using subject = std::uint64_t;
subject subject_of(std::uint64_t kind, std::uint64_t id, std::string_view name = {});

class commit_queue {
 public:
  /// Called with an error if the data that the answer depends on will never be durable.
  using callback = std::function<void(muster::status const& lost)>;

  /// Records that batch `number` was appended to the journal. Numbers must increase.
  void wrote(std::uint64_t number) { written_ = number; }
  void touch(subject s);
  /// Returns the last non-durable batch that changed the subject, or 0.
  std::uint64_t batch_of(subject s) const {
    auto const it = unwritten_.find(s);
    return it == unwritten_.end() ? 0 : it->second;
  }
  bool idle() const { return written_ <= durable_ && held_.empty(); }
  bool is_acknowledged(std::uint64_t batch) const {
    return batch <= durable_ && (held_.empty() || held_.begin()->first > batch);
  }
  /// Calls `t` once all batches written so far are durable or the disk has failed, or immediately
  /// if all batches are durable. If `changed` is set, the answer depends on the last batch, so `t`
  /// gets the error of a failed disk.
  void hold(bool changed, callback t) { put({changed, std::move(t)}, written_); }
  /// Calls `t` once this batch is durable, or with the error of a failed disk.
  void hold_for(std::uint64_t batch, callback t) { put({true, std::move(t)}, batch); }
  /// If `failed` is an error, batches after `number` will never become durable.
  void on_durable(std::uint64_t number, muster::status const& failed, core::time_point now);

  std::uint64_t written() const { return written_; }
  std::uint64_t durable() const { return durable_; }
  muster::status const& failed() const { return failed_; }
  core::time_point failed_since() const { return failed_since_; }

 private:
  struct held {
    bool depends_on_batch = false;
    callback then;
  };
  struct touched {
    std::uint64_t batch = 0;
    subject of = 0;
  };

  void put(held h, std::uint64_t batch);
  bool is_over(std::uint64_t batch) const { return batch <= durable_ || !failed_.ok(); }
  void release(held& h, std::uint64_t batch) {
    h.then(h.depends_on_batch && batch > durable_ ? failed_ : muster::status{});
  }

  std::uint64_t written_ = 0;
  std::uint64_t durable_ = 0;
  muster::status failed_;
  core::time_point failed_since_ = core::never;
  std::multimap<std::uint64_t, held> held_;
  // Bounded by the number of unwritten changes; after a disk failure, by the number of subjects.
  std::unordered_map<subject, std::uint64_t> unwritten_;
  std::deque<touched> order_;
};

}  // namespace muster::server
