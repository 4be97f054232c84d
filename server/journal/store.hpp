// Where a server writes down what the next one must know: an ordered map that outlives the process.
// One small interface, so that a disk, a service or a test's memory can be behind it. Called by one
// thread at a time: before the server runs by its main thread, then by the journal's.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace muster::server::journal {

/// One of a batch, which are done in order.
struct change {
  enum class kind : std::uint8_t { put, erase, erase_below };
  kind what = kind::put;
  std::string key{};    ///< erase_below: everything that begins so
  std::string value{};  ///< put

  std::size_t bytes() const { return sizeof *this + key.size() + value.size(); }
  bool operator==(change const&) const = default;
};

/// The end of the range of all keys that begin so; empty: it has none.
inline std::string behind(std::string prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xff) prefix.pop_back();
  if (!prefix.empty()) ++prefix.back();
  return prefix;
}

class store {
 public:
  virtual ~store() = default;
  /// All of it or nothing; durable when it returns OK. RESOURCE_EXHAUSTED: there is no room,
  /// nothing of it is written, and it may be tried again. Any other error stands for good: nothing
  /// may be written any more (what the disk has of it is not known), it is never tried again.
  virtual muster::status write(std::vector<change> const& batch) = 0;
  /// Everything that begins so, in order of keys, until the visitor says false.
  using visitor = std::function<bool(std::string_view key, std::string_view value)>;
  /// Shows all entries whose keys begin so, in order of keys, until the visitor gives false.
  virtual muster::status read(std::string_view prefix, visitor const& v) const = 0;
  /// Any thread, again and again: somebody waits for the end of a write, and for the end of all.
  /// A store that asks others gives up then when they are silent.
  virtual void hurry() {}
  /// What all of it takes.
  virtual std::uint64_t bytes_on_disk() const = 0;
  /// Of its disk; none: not known.
  virtual std::optional<std::uint64_t> bytes_free() const { return {}; }
  /// Returns the version of the service that keeps it, as of the last look at its space; empty: it
  /// is a directory, or not known.
  virtual std::string version() const { return {}; }
  /// Returns whether `bytes_free` asks nobody else, so that it can be called while nothing is
  /// written.
  virtual bool is_local() const { return true; }
};

}  // namespace muster::server::journal
