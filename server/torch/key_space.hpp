// Keys, queues, barriers and waiters of one program attempt: a TCPStore without connections and
// protocol.
//
// Owned by the tcp_store and its connections; used only on their thread. Pure. Callers must check
// `limits` before they add data.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/core/api/time.hpp"

namespace muster::torch {

class key_space;

/// A client that can wait for several keys or for one barrier. REQUIRES: the waiter is withdrawn
/// before it is destroyed.
class waiter {
 public:
  waiter() = default;
  waiter(waiter const&) = delete;

  bool waits() const { return missing_ > 0; }
  core::time_point since() const { return since_; }
  /// Returns the number of awaited keys that are not set. A key that was requested twice counts
  /// twice.
  std::size_t keys() const { return missing_; }
  void each_key(std::function<void(std::string_view key)> const& f) const;
  bool at_barrier() const { return waits() && barrier_; }

 private:
  friend class key_space;
  // Waiters by increasing number; they are woken in this order.
  using line = std::map<std::uint64_t, waiter*>;
  using lines = std::map<std::string, line, std::less<>>;
  struct place {
    lines::iterator line;
    std::uint64_t number = 0;
    bool has_come = false;  // whether the key was set, which makes `line` invalid
  };

  std::vector<place> places_;
  std::size_t missing_ = 0;
  core::time_point since_{};
  bool barrier_ = false;
};

struct usage {
  std::size_t entries = 0;
  std::size_t bytes = 0;
  std::size_t awaited = 0;
};

class key_space {
 public:
  /// Called for a waiter that no longer waits, because all its keys are set. Must not call the key
  /// space.
  using woken = std::function<void(waiter&)>;
  /// REQUIRES: `all` outlives the key space.
  key_space(woken on_woken, usage& all) : woken_(std::move(on_woken)), all_(all) {}
  ~key_space();
  key_space(key_space const&) = delete;

  void set(std::string_view key, std::string_view value);
  /// Returns null if the key does not exist. The value is valid until the key space changes.
  std::string const* find(std::string_view key) const;
  /// Sets the key to `desired` if its value is `expected`, or if the key does not exist and
  /// `expected` is empty. Returns the resulting value, or `expected` if the key does not exist.
  std::string compare_set(std::string_view key, std::string_view expected,
                          std::string_view desired);
  /// Adds `delta` to a number, which is stored as decimal digits and wraps around. Returns nothing
  /// if the value is not a number.
  std::optional<std::int64_t> add(std::string_view key, std::int64_t delta);
  /// Creates the key if necessary.
  void append(std::string_view key, std::string_view value);
  /// Returns false if the key does not exist.
  bool erase(std::string_view key);
  /// Returns whether there is a key or a nonempty queue with this name.
  bool is_there(std::string_view key) const;

  /// Creates the queue if necessary.
  void push(std::string_view queue, std::string_view value);
  /// Returns 0 if the queue does not exist.
  std::size_t length(std::string_view queue) const;
  std::string pop(std::string_view queue);

  /// Returns true if all keys exist; otherwise `w` waits. REQUIRES: `w` is not waiting.
  bool wait(waiter& w, std::vector<std::string_view> const& keys, core::time_point now);
  /// Reports that `w` has arrived at a barrier. Once `world` clients have arrived, wakes the
  /// waiters and returns true. Returns nothing if the key's value is not a number. REQUIRES: `w` is
  /// not waiting.
  std::optional<bool> arrive(waiter& w, std::string_view key, std::int64_t world,
                             core::time_point now);
  /// Has no effect if `w` is not waiting.
  void withdraw(waiter& w);

  std::map<std::string, std::string, std::less<>> const& all() const { return keys_; }
  /// Calls `f` for each key with waiters, in byte order; barriers follow keys.
  void each_line(
      std::function<void(std::string_view key, std::vector<waiter*> const&)> const& f) const;

  std::size_t entries() const { return keys_.size() + queued_; }
  std::size_t bytes() const { return bytes_; }

  /// Returns a violated invariant, or an empty string.
  std::string invalid() const;

  /// Estimated memory of an entry without its strings.
  static constexpr std::size_t entry_bytes = 128;

 private:
  void wake(waiter::lines& all, std::string_view key, bool one);
  void park(waiter& w, waiter::lines& all, std::string_view key, core::time_point now);
  std::string& place_of(std::string_view key);
  void more(std::size_t entries, std::size_t bytes);
  void less(std::size_t entries, std::size_t bytes);

  woken woken_;
  usage& all_;
  std::map<std::string, std::string, std::less<>> keys_;
  std::map<std::string, std::deque<std::string>, std::less<>> queues_;
  waiter::lines waiting_;
  waiter::lines at_barriers_;
  std::size_t queued_ = 0;
  std::size_t bytes_ = 0;
  std::size_t awaited_ = 0;
  std::uint64_t last_number_ = 0;
};

}  // namespace muster::torch
