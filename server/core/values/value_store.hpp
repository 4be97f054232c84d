// The values of ended closures: which are kept, how many bytes of them where, and those that are
// made again.
//
//             write              written                  read
//   memory ─────────► writing ─────────► disk ───────────────────► whoever asked for it
//     ▲                  │ failed          │                       (the value stays on the disk)
//     └──────────────────┘                 └── cannot be read: gone
//
// A value that is released while it is read back is still handed to those who asked before. What is
// gone against everybody's will can be made again by its closure's arguments, which are kept for
// that (64 MiB at most, the oldest are forgotten); where the value is a name, with the values of
// its inputs.
//
// Writes `value` and `where` of the records and nothing else there; knows sessions by number. What
// is to be moved is handed out by `take_moves`. Owned by the coordinator; engine thread only.
// Limits: as many entries as closures keep values; bytes and numbers as config says.
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
  /// Values that are read back at one time, others wait for their turn.
  static constexpr std::size_t reads_max = 64;
  /// Runs of one closure after the first, and lost inputs of lost inputs. More: not made again.
  static constexpr std::uint32_t runs_max = 3;
  static constexpr std::uint32_t depth_max = 128;

  /// What one session has.
  struct holder {
    bool holds = false;               // until its client releases them: each counts by itself
    id_queue values;                  // of one that holds, oldest first
    std::uint64_t live = 0;           // values, neither released nor dropped
    std::uint64_t bytes = 0;          // in memory
    std::uint64_t spilled_bytes = 0;  // on the disk
    std::uint64_t blob_bytes = 0;     // of the blobs that values name, each as often as it is named
    std::vector<closure_id> with_arguments{};  // ended without a value, kept for a retry
    std::uint64_t retry_turn = 0;              // in retry_order_; 0: none are kept
    bool arguments_gone = false;               // some were to be kept and are not any more
  };
  /// A value that is read back, and who waits for it.
  struct reading {
    std::uint64_t bytes = 0;
    std::vector<closure_id> dependents;  // closures that need it as an input
    session_id repeat{};                 // its client waits for the outcome again
    std::uint64_t token = 0;             // of that
    bool sent = false;                   // to the shell
    bool orphan = false;                 // released meanwhile
  };
  /// A closure that runs again since its value was lost.
  struct rebuilding {
    closure_id by{};  // the closure that does it
    std::uint32_t depth = 0;
    time_point since{};
    std::vector<closure_id> dependents;
  };

  /// `wide`: what all stores of the server have together is within one limit. It outlives this.
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

  /// The closure has ended and its record stays.
  void keep(slot c);
  /// Takes the value out of the books, wherever it is.
  void let_go(slot c);
  /// The record stays with an empty value: nobody wants it.
  void forget_value(slot c);
  /// The record stays without its value.
  void drop(slot c, release_reason why, time_point now, bool restored = false);
  bool has_value(closure_id id) const;
  std::optional<release_note> note_of(closure_id id) const;
  /// Bytes on the disk. REQUIRES: it is there, or on its way.
  std::uint64_t bytes_away(closure_id id) const { return away_.at(id); }

  /// The oldest that the session holds; none when it holds nothing.
  closure_id oldest_of(session_number n);
  void pop_oldest_of(session_number n) { holders_[n].values.pop(); }
  /// Why the session's oldest value must go; nothing when it may stay.
  std::optional<release_reason> over_session_limit(session_number n) const;
  bool over_memory() const { return bytes() > (config_.spill ? spill_above() : bytes_max()); }
  bool over_disk() const { return disk_.over(config_.spill_bytes_max); }
  /// What is in memory and stays there takes more than it may.
  bool too_much_in_memory() const { return bytes() - writing_bytes_ > bytes_max(); }
  /// What is in memory takes more than it may.
  bool full() const { return bytes() > bytes_max(); }
  /// Takes the oldest that may be dropped out of its queue; no_slot when there is none.
  slot pop_oldest_on_disk();
  slot pop_oldest_in_memory();

  /// Moves the oldest to the disk until what stays in memory is within the limit.
  void write(time_point now);
  /// REQUIRES: it is on the disk. Joins a read that is under way.
  reading& read(slot c);
  reading* find_reading(closure_id id);
  reading const* find_reading(closure_id id) const;
  struct write_result {
    bool failed = false;
    bool worth_a_line = false;  // the first failure in a while
  };
  /// The shell has answered a write. Nothing: it was released meanwhile.
  write_result written(value_moved const& m, time_point now);
  /// The shell has answered a read. Nothing: it was not asked for.
  std::optional<reading> read_back(value_moved const& m);
  /// For everything that is on the disk, or on its way.
  std::vector<value_move> forget_all() const;
  std::vector<value_move> take_moves() { return std::exchange(moves_, {}); }

  /// Lineage. The closure has ended with a value that may be lost one day.
  void keep_arguments(slot c);
  /// The server has what the value names. Does nothing where none are kept.
  void forget_arguments(slot c);
  bool may_be_lost(closure_record const& r) const;
  /// Names a blob, which may be in the memory of workers alone.
  static bool is_name(blob const& value) {
    return value.size() <= blob_name_bytes_max && names_blob(value.view());
  }
  /// Has what the value names copied to the server.
  void copy(slot c) { moves_.push_back({move_kind::copy, records_.id_of(c), {}}); }
  static bool lost(release_reason why);
  rebuilding* find_rebuilding(closure_id id);
  rebuilding const* find_rebuilding(closure_id id) const;
  std::uint32_t runs_of(closure_id id) const;
  /// It runs again; `by` is set by who makes it so.
  rebuilding& begin_rebuilding(closure_id id, std::uint32_t depth, time_point now);
  /// It has ended; the value is back in the books where the closure waits for it.
  rebuilding end_rebuilding(closure_id id, blob const* value);
  /// The closure of a job has ended without a value: its arguments stay, so that it can be retried,
  /// within config::retry_bytes_max.
  void keep_for_retry(slot c);
  /// Its record goes.
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
  /// Returns the bytes of the blobs that values name. A blob counts once for each value.
  std::uint64_t blob_bytes() const { return blob_bytes_; }

  /// Since when the disk takes nothing, while there is something for it; never: all is well.
  time_point disk_fails_since() const { return bytes() > spill_above() ? failing_since_ : never; }

  /// Whether sessions wait for as many repeated outcomes as are read back for them.
  bool repeats(std::map<session_id, std::uint64_t> const& expected) const;
  /// Empty when the books match the records, else what does not.
  std::string invalid() const;

 private:
  /// It may be written to the disk, and is dropped when there is no room. Names of blobs stay: they
  /// are short, and the blob lies elsewhere.
  bool may_go(closure_record const& r) const {
    return config_.spill && r.value.size() >= config_.spill_value_bytes_min && !is_name(r.value);
  }
  /// Of an ended closure: arguments, and values of inputs.
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
  budget_share memory_, disk_;     // a value that is being written counts as in memory
  std::vector<value_move> moves_;  // of this step
  numbered<session_number, holder> holders_;
  std::unordered_map<closure_id, std::uint64_t> away_;  // bytes of values in writing or on disk
  std::unordered_map<closure_id, release_note> gone_;
  std::map<closure_id, reading> reads_;
  std::deque<closure_id> reads_waiting_;  // not sent yet
  std::size_t reads_sent_ = 0;
  id_queue in_memory_;  // that may be written, oldest first
  id_queue on_disk_;
  std::uint64_t held_ = 0;
  std::uint64_t blob_bytes_ = 0;
  std::uint64_t writing_bytes_ = 0;
  std::uint64_t on_disk_count_ = 0;
  time_point retry_at_{};             // after a write that failed: none before
  time_point failing_since_ = never;  // the first of the writes that failed in a row

  std::map<closure_id, rebuilding> rebuilds_;           // by the closure whose value was lost
  std::unordered_map<closure_id, std::uint32_t> runs_;  // again; of closures that have a record
  id_queue with_arguments_;  // ended closures whose arguments are kept, oldest first
  std::uint64_t arguments_bytes_ = 0;
  std::map<std::uint64_t, session_number> retry_order_;  // that keep arguments, the oldest first
  std::uint64_t last_retry_turn_ = 0;
  std::uint64_t retry_bytes_ = 0;
};

}  // namespace muster::core
