// The values of finished closures, with their sizes and places, and the values that are being
// rebuilt. Places of a value:
//
//             write              written                  read
//   memory ─────────► writing ─────────► disk ───────────────────► requester
//     ▲                  │ failed          │                       (and stays on the disk)
//     └──────────────────┘                 └── cannot be read: lost
//
// A value that is released during a read is still sent to earlier requesters. A lost value can be
// rebuilt from its closure's arguments, and from the closure's inputs as well if the value names a
// blob. For this, up to 64 MiB of arguments are kept; at the limit, the oldest arguments are
// dropped. The store writes only the record fields `value` and `where`. Used only on the engine
// thread; bounded by the number of values and by config.
#pragma once

#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "server/core/api/blob_name.hpp"
#include "server/core/api/config.hpp"
#include "server/core/api/effects.hpp"
#include "server/core/common/numbered.hpp"
#include "server/core/records/closure_table.hpp"
#include "server/core/values/id_queue.hpp"

namespace muster::core {

class value_store {
 public:
  /// Maximum number of concurrent reads. Further reads wait.
  static constexpr std::size_t reads_max = 64;
  /// Maximum number of repeated runs of a closure, and maximum depth of lost inputs. Beyond either
  /// limit, values are not rebuilt.
  static constexpr std::uint32_t runs_max = 3;
  static constexpr std::uint32_t depth_max = 128;

  struct holder {
    bool holds = false;      // whether each value is kept until its client releases it
    id_queue values;         // values if `holds` is set, oldest first
    std::uint64_t live = 0;  // number of values that are neither released nor dropped
    std::uint64_t bytes = 0;
    std::uint64_t spilled_bytes = 0;
    std::uint64_t blob_bytes = 0;  // size of the blobs that values refer to, counted once per value
    std::vector<closure_id> with_arguments{};
    std::uint64_t retry_turn = 0;  // position in retry_order_; 0 if no arguments are kept
    bool arguments_gone = false;
  };
  /// A value that is being read back, with the calls and closures that wait for it.
  struct reading {
    std::uint64_t bytes = 0;
    std::vector<closure_id> dependents;
    session_id repeat{};  // session whose client requested the outcome again
    std::uint64_t token = 0;
    bool sent = false;
    bool orphan = false;
  };
  struct rebuilding {
    closure_id by{};
    std::uint32_t depth = 0;
    time_point since{};
    std::vector<closure_id> dependents;
  };

  value_store(closure_table& records, config const& c, server_wide& wide, changes& out)
      : records_(records),
        config_(c),
        changes_(out),
        memory_(wide.value_bytes),
        disk_(wide.spilled_bytes) {}
  value_store(value_store const&) = delete;

  void open(session_number n, bool holds) { holders_.open(n).holds = holds; }
  void close(session_number n) {
    retry_order_.erase(holders_[n].retry_turn);
    holders_.close(n);
  }
  holder const& of(session_number n) const { return holders_[n]; }

  void keep(slot c);
  void let_go(slot c);
  /// Must be called after the client has released the value.
  void forget_value(slot c);
  void drop(slot c, release_reason why, time_point now, bool restored = false);
  bool has_value(closure_id id) const;
  std::optional<release_note> note_of(closure_id id) const;
  /// REQUIRES: the value is on disk or being written.
  std::uint64_t disk_size(closure_id id) const { return spilled_.at(id); }

  closure_id oldest_of(session_number n);
  void pop_oldest_of(session_number n) { holders_[n].values.pop(); }
  /// Returns why the session's oldest value must be dropped, or nothing.
  std::optional<release_reason> over_session_limit(session_number n) const;
  bool over_memory() const { return bytes() > (config_.spill ? spill_above() : bytes_max()); }
  bool over_disk() const { return disk_.over(config_.spill_bytes_max); }
  /// Returns whether values use too much memory. Ignores values that are being written.
  bool too_much_in_memory() const { return bytes() - writing_bytes_ > bytes_max(); }
  bool full() const { return bytes() > bytes_max(); }
  slot pop_oldest_on_disk();
  slot pop_oldest_in_memory();

  /// Starts writing the oldest values to disk, until the other values are within the limit.
  void write(time_point now);
  /// Reads the value back, or joins a read in progress. REQUIRES: the value is on disk.
  reading& read(slot c);
  reading* find_reading(closure_id id);
  reading const* find_reading(closure_id id) const;
  struct write_result {
    bool failed = false;
    bool worth_a_line = false;  // first failure in a while, which should be logged
  };
  /// Handles the reply to a write. Returns an empty result if the value was released.
  write_result written(value_moved const& m, time_point now);
  std::optional<reading> read_back(value_moved const& m);
  std::vector<value_move> forget_all() const;
  std::vector<value_move> take_moves() { return std::exchange(moves_, {}); }

  void keep_arguments(slot c);
  /// Drops a closure's kept arguments, if any.
  void forget_arguments(slot c);
  bool may_be_lost(closure_record const& r) const;
  /// Returns whether the value names a blob, which can be only in workers' memory.
  static bool is_name(blob const& value) {
    return value.size() <= blob_name_bytes_max && names_blob(value.view());
  }
  void copy(slot c) { moves_.push_back({move_kind::copy, records_.id_of(c), {}}); }
  static bool lost(release_reason why);
  rebuilding* find_rebuilding(closure_id id);
  rebuilding const* find_rebuilding(closure_id id) const;
  std::uint32_t runs_of(closure_id id) const;
  /// The caller sets `by`.
  rebuilding& begin_rebuilding(closure_id id, std::uint32_t depth, time_point now);
  rebuilding end_rebuilding(closure_id id, blob const* value);
  /// Keeps the arguments of a job's unsuccessful closure for a retry, within
  /// config::retry_bytes_max.
  void keep_for_retry(slot c);
  /// Must be called before the record is deleted.
  [[gnu::always_inline]] void forget_record(slot c) {
    auto const& r = records_[c];
    if (ended(r.state()))
      (r.state() == closure_state::succeeded ? arguments_bytes_ : retry_bytes_) -= kept_bytes(r);
    if (!runs_.empty()) runs_.erase(records_.id_of(c));
  }

  std::uint64_t held() const { return held_; }
  std::uint64_t bytes() const { return memory_.used(); }
  std::uint64_t disk_bytes() const { return disk_.used(); }
  std::uint64_t on_disk_count() const { return on_disk_count_; }
  /// A blob counts once for each value that names it.
  std::uint64_t blob_bytes() const { return blob_bytes_; }

  /// Returns the time since which values could not be written, or `never`.
  time_point disk_fails_since() const { return bytes() > spill_above() ? failing_since_ : never; }

  bool repeats(std::map<session_id, std::uint64_t> const& expected) const;
  std::string invalid() const;

 private:
  /// Blob names stay in memory: they are short, and the blob is stored elsewhere.
  bool can_spill(closure_record const& r) const {
    return config_.spill && r.value.size() >= config_.spill_value_bytes_min && !is_name(r.value);
  }
  static std::uint64_t kept_bytes(closure_record const& r) {
    std::uint64_t bytes = r.args.size();
    if (r.details && r.details->inputs)
      for (auto const& input : *r.details->inputs) bytes += input.size();
    return bytes;
  }
  bool is_at(closure_id id, value_place where) const;
  void forget_oldest_arguments();
  void send_reads();
  void put_in_memory(slot c);
  std::uint64_t bytes_max() const { return memory_.most(config_.value_bytes_max); }
  std::uint64_t spill_above() const {
    return config_.spill_above > 0 ? memory_.most(config_.spill_above) : bytes_max() / 2;
  }

  closure_table& records_;
  config const& config_;
  changes& changes_;
  budget_share memory_, disk_;  // values that are being written count as in memory
  std::vector<value_move> moves_;
  numbered<session_number, holder> holders_;
  std::unordered_map<closure_id, std::uint64_t> spilled_;
  std::unordered_map<closure_id, release_note> release_notes_;
  std::map<closure_id, reading> reads_;
  std::deque<closure_id> reads_waiting_;
  std::size_t reads_sent_ = 0;
  id_queue in_memory_;
  id_queue on_disk_;
  std::uint64_t held_ = 0;
  std::uint64_t blob_bytes_ = 0;
  std::uint64_t writing_bytes_ = 0;
  std::uint64_t on_disk_count_ = 0;
  time_point retry_at_{};             // earliest next write after a failure
  time_point failing_since_ = never;  // time of the first failed write in a row

  std::map<closure_id, rebuilding> rebuilds_;
  std::unordered_map<closure_id, std::uint32_t> runs_;
  id_queue with_arguments_;  // finished closures with kept arguments, oldest first
  std::uint64_t arguments_bytes_ = 0;
  std::map<std::uint64_t, session_number> retry_order_;
  std::uint64_t last_retry_turn_ = 0;
  std::uint64_t retry_bytes_ = 0;
};

}  // namespace muster::core
