// The keys of one generation, in byte order, and who waits for keys that are not there. Owned by
// standalone_service. Keys are taken as normalised; see normal_key.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "server/core/api/blob.hpp"
#include "server/core/coordination/api/effects.hpp"
#include "server/core/coordination/api/limits.hpp"

namespace muster::core::coordination {

/// One '/' between parts, none at the ends; what follows a NUL is dropped.
std::string normal_key(std::string_view key);

class key_value_store {
 public:
  struct entry {
    blob value;
    time_point changed{};
  };
  using entries = std::map<std::string, entry, std::less<>>;
  /// Keys that somebody waits for; the strings stay where they are until the last waiter leaves.
  using waits = std::map<std::string, std::set<call_id>, std::less<>>;

  explicit key_value_store(limits const& l) : limits_(l) {}

  /// RESOURCE_EXHAUSTED or INVALID_ARGUMENT names the limit; ALREADY_EXISTS unless `overwrite`.
  status insert(time_point now, std::string const& key, blob value, bool overwrite);
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

  /// Returns the key as stored with the wait, for `withdraw`.
  std::string const& wait(std::string key, call_id call);
  void withdraw(std::string const& key, call_id call);
  /// Takes everybody who waits for `key`, in order of arrival.
  std::set<call_id> wake(std::string_view key);
  waits const& waiting() const { return waits_; }
  std::size_t waiting_calls() const { return waiting_calls_; }

  entries const& all() const { return entries_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void put(time_point now, entries::iterator it, blob value);

  limits const& limits_;
  entries entries_;
  waits waits_;
  std::size_t waiting_calls_ = 0;
  std::size_t bytes_ = 0;  // of keys and values
};

}  // namespace muster::core::coordination
