// The keys of one generation, in byte order, and who waits for keys that are not there. Owned by
// `service`; knows no other part. Keys are taken as normalised; see normal_key. Pure; engine thread
// only.
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

/// One '/' between parts, none at the ends; what follows a NUL is dropped.
std::string normal_key(std::string_view key);

enum class key_wait_id : std::uint64_t {};

class key_value_store {
 public:
  struct entry {
    blob value;
    time_point changed{};
  };
  using entries = std::map<std::string, entry, std::less<>>;
  /// One who waits for a key.
  struct waiter {
    std::string asked;  // the caller's spelling of the key, when it differs
    std::string peer;   // the address it comes from
  };
  /// By call, so in order of arrival.
  using waiters = std::map<call_id, waiter>;

  key_value_store(limits const& l, change_log log) : limits_(l), log_(log) {}

  /// RESOURCE_EXHAUSTED or INVALID_ARGUMENT names the limit; ALREADY_EXISTS unless `overwrite`.
  status insert(time_point now, std::string const& key, blob value, bool overwrite,
                key_why why = key_why::set);
  entry const* find(std::string_view key) const;
  /// The new value, as decimal text. FAILED_PRECONDITION: the old one is no number, or the sum
  /// does not fit into 64 bits.
  result<blob> increment(time_point now, std::string const& key, std::int64_t by);
  /// Everything below the directory (not the key itself).
  std::vector<key_value> below(std::string_view directory) const;
  /// The key and everything below it.
  void erase(std::string_view key);

  /// Takes all keys of another store with the same limits. REQUIRES: this one is empty.
  void take_entries(key_value_store& other) {
    entries_.swap(other.entries_);
    std::swap(bytes_, other.bytes_);
  }

  /// The call waits for the key. Gives the wait, which all have in common that wait for it.
  key_wait_id wait(std::string const& key, call_id call, waiter w);
  /// REQUIRES: the call waits there.
  void withdraw(key_wait_id id, call_id call);
  /// Takes everybody who waits for `key`.
  waiters wake(std::string_view key);
  /// Waits by key.
  std::map<std::string, key_wait_id, std::less<>> const& waiting() const { return waiting_; }
  /// REQUIRES (here and below): somebody waits there.
  waiters const& waiting_at(key_wait_id id) const { return waits_.at(id).calls; }
  std::string const& awaited(key_wait_id id) const { return waits_.at(id).key; }
  std::size_t waiting_calls() const { return waiting_calls_; }

  /// As it was. REQUIRES: the key is not there, and nobody waits.
  void restore(std::string const& key, blob value, time_point changed) {
    bytes_ += key.size() + value.size();
    log_.note(key_changed{{key, value, changed}, key_why::known});
    entries_[key] = {std::move(value), changed};
  }
  /// All of them, as changes.
  void say_whole(change_log const& log) const {
    for (auto const& [key, e] : entries_)
      log.note(key_changed{{key, e.value, e.changed}, key_why::known});
  }

  entries const& all() const { return entries_; }
  std::size_t bytes() const { return bytes_; }

  /// Empty when everything is as it must be, else what is not, in words.
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
  std::size_t bytes_ = 0;  // of keys and values
  change_log const log_;
};

}  // namespace muster::core::coordination
