// The keys of one generation in byte order, and calls that wait for missing keys. Keys must be
// normalized; see normal_key. Used only on the engine thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/core/api/blob.hpp"
#include "server/core/common/slot_table.hpp"
#include "server/core/coordination/api/coordination_effects.hpp"
#include "server/core/coordination/api/coordination_limits.hpp"

namespace muster::core::coordination {

/// Returns the key with a single '/' between parts, and without '/' at the ends. Drops a NUL and
/// all text after it.
std::string normal_key(std::string_view key);

enum class key_wait_id : std::uint64_t {};

class key_value_store {
 public:
  struct entry {
    blob value;
    time_point changed{};
  };
  using entries = std::map<std::string, entry, std::less<>>;
  struct waiter {
    std::string asked;  // the caller's spelling of the key, if different
    std::string peer;
  };
  /// Sorted by call, and therefore in order of arrival.
  using waiters = std::map<call_id, waiter>;

  key_value_store(limits const& l, change_log log) : limits_(l), log_(log) {}

  /// Returns RESOURCE_EXHAUSTED or INVALID_ARGUMENT, with the limit, if a limit is exceeded.
  /// Returns ALREADY_EXISTS if the key exists and `overwrite` is not set.
  status insert(time_point now, std::string const& key, blob value, bool overwrite,
                key_why why = key_why::set);
  entry const* find(std::string_view key) const;
  /// Returns the new value as decimal text. Fails with FAILED_PRECONDITION if the value is not a
  /// number, or if the sum exceeds 64 bits.
  result<blob> increment(time_point now, std::string const& key, std::int64_t by);
  /// Returns the keys below a directory, without the directory key itself.
  std::vector<key_value> below(std::string_view directory) const;
  /// Erases the key and all keys below it.
  void erase(std::string_view key);

  /// Moves all keys from another store with the same limits. REQUIRES: this store is empty.
  void take_entries(key_value_store& other) {
    entries_.swap(other.entries_);
    std::swap(bytes_, other.bytes_);
  }

  /// Parks the call. Returns the wait, which all calls for the key share.
  key_wait_id wait(std::string const& key, call_id call, waiter w);
  /// REQUIRES: the call is part of this wait.
  void withdraw(key_wait_id id, call_id call);
  waiters wake(std::string_view key);
  std::map<std::string, key_wait_id, std::less<>> const& waiting() const { return waiting_; }
  /// REQUIRES (also for the functions below): calls wait for this key.
  waiters const& waiting_at(key_wait_id id) const { return waits_.at(id).calls; }
  std::string const& awaited(key_wait_id id) const { return waits_.at(id).key; }
  std::size_t waiting_calls() const { return waiting_calls_; }

  /// REQUIRES: the key is missing, and no call waits.
  void restore(std::string const& key, blob value, time_point changed) {
    bytes_ += key.size() + value.size();
    log_.note(key_changed{{key, value, changed}, key_why::known});
    entries_[key] = {std::move(value), changed};
  }
  void write_state(change_log const& log) const {
    for (auto const& [key, e] : entries_)
      log.note(key_changed{{key, e.value, e.changed}, key_why::known});
  }

  entries const& all() const { return entries_; }
  std::size_t bytes() const { return bytes_; }

  std::string violated_invariant() const;

 private:
  struct wait_of_key {
    std::string key;
    waiters calls;
  };
  void put(time_point now, entries::iterator it, blob value, key_why why);

  limits const& limits_;
  entries entries_;
  slot_table<key_wait_id, wait_of_key> waits_;
  std::map<std::string, key_wait_id, std::less<>> waiting_;
  std::size_t waiting_calls_ = 0;
  std::size_t bytes_ = 0;  // total size of keys and values
  change_log const log_;
};

}  // namespace muster::core::coordination
