// Keys, queues and barriers of one attempt of a program, and who waits for them: what torch's store
// does, without connections and their bytes.
//
// Owned by the connections that use it and by the station, on whose thread it lives. Pure. Limits:
// keys and bytes of `limits`, which whoever changes something looks at first.
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

/// One who may wait, for several keys at once or for one barrier. It must have withdrawn when it
/// goes.
class waiter {
 public:
  waiter() = default;
  waiter(waiter const&) = delete;

  bool waits() const { return missing_ > 0; }
  core::time_point since() const { return since_; }
  /// Keys that have not come, a key as often as it was asked for.
  std::size_t keys() const { return missing_; }
  void each_key(std::function<void(std::string_view key)> const& f) const;
  bool at_barrier() const { return waits() && barrier_; }

 private:
  friend class key_space;
  // By a number that rises: who came first is woken first.
  using line = std::map<std::uint64_t, waiter*>;
  using lines = std::map<std::string, line, std::less<>>;
  struct place {
    lines::iterator line;
    std::uint64_t number = 0;
    bool has_come = false;  // then its line is gone
  };

  std::vector<place> places_;  // numbers rise
  std::size_t missing_ = 0;
  core::time_point since_{};
  bool barrier_ = false;
};

/// What all key spaces of a station take together.
struct usage {
  std::size_t entries = 0;
  std::size_t bytes = 0;
  std::size_t awaited = 0;
};

class key_space {
 public:
  /// Called for each who has all that it waited for; it waits no more. Must not call back.
  using woken = std::function<void(waiter&)>;
  /// REQUIRES: `all` outlives it.
  key_space(woken on_woken, usage& all) : woken_(std::move(on_woken)), all_(all) {}
  ~key_space();
  key_space(key_space const&) = delete;

  /// Sets it and wakes who waits for it.
  void set(std::string_view key, std::string_view value);
  /// Null: there is none. Valid until the space changes.
  std::string const* find(std::string_view key) const;
  /// What is there now, or what was expected of a key that is not there and should be.
  std::string compare_set(std::string_view key, std::string_view expected,
                          std::string_view desired);
  /// Kept as decimal digits; wraps. Nothing: what is there is no number.
  std::optional<std::int64_t> add(std::string_view key, std::int64_t delta);
  /// Adds to the end of a value; to none, sets it.
  void append(std::string_view key, std::string_view value);
  /// False: there is no such key.
  bool erase(std::string_view key);
  /// A key, or a queue that is not empty.
  bool is_there(std::string_view key) const;

  /// Adds to the end of a queue, which is made where it is new.
  void push(std::string_view queue, std::string_view value);
  /// Of a queue; 0 where there is none.
  std::size_t length(std::string_view queue) const;
  /// REQUIRES: it is not empty.
  std::string pop(std::string_view queue);

  /// True: all are there, nobody waits. REQUIRES: `w` does not wait.
  bool wait(waiter& w, std::vector<std::string_view> const& keys, core::time_point now);
  /// Counts one in. True: `world` have come, or more; those who wait are woken. Nothing: the key
  /// holds no number. REQUIRES: `w` does not wait.
  std::optional<bool> arrive(waiter& w, std::string_view key, std::int64_t world,
                             core::time_point now);
  /// Harmless when it does not wait.
  void withdraw(waiter& w);

  /// All keys in byte order; queues are none.
  std::map<std::string, std::string, std::less<>> const& all() const { return keys_; }
  /// Lines of those who wait for keys, in byte order.
  void each_line(
      std::function<void(std::string_view key, std::vector<waiter*> const&)> const& f) const;

  std::size_t entries() const { return keys_.size() + queued_; }
  std::size_t bytes() const { return bytes_; }

  /// What the description of its places says is so; empty when all is in order. For tests.
  std::string invalid() const;

  /// What an entry costs beside its texts.
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
  waiter::lines waiting_;      // for keys
  waiter::lines at_barriers_;  // by the key of the barrier
  std::size_t queued_ = 0;     // entries of queues
  std::size_t bytes_ = 0;
  std::size_t awaited_ = 0;
  std::uint64_t last_number_ = 0;
};

}  // namespace muster::torch
